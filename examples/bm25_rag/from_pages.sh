#!/bin/sh
# From a folder of Markdown pages to a diagnosis, without a language model: questions, answers, causes.
#
#     sh from_pages.sh [PAGES]
#
# The system of rag.py answers from the pages, and so do its three variants with one part made worse. Questions
# and runs are in a new folder.
set -eu
RAG_PAGES=$(realpath "${1:-$(dirname "$0")/pages}")
export RAG_PAGES
cd "$(dirname "$0")"
folder=$(mktemp -d)
echo "The questions and the runs are in $folder."
sgi quiz "$RAG_PAGES"/*.md -n 100 -o "$folder/quiz.jsonl"
for system in rag worse_retriever worse_prompt worse_model; do
    sgi run "$folder/quiz.jsonl" --target "$system:answer" --name "$system" --db "$folder/sgi.db" -q \
        -m recall@3,grounding,completeness,correct_refusal
done
sgi diagnose rag worse_retriever worse_prompt worse_model --db "$folder/sgi.db"
