#!/bin/sh
# From a folder of Markdown pages to a diagnosis, without a language model: questions, answers, causes.
#
#     sh from_pages.sh [PAGES]
#
# The system of rag.py answers from the pages, and so do its three variants with one part made worse.
set -eu
RAG_PAGES=$(realpath "${1:-$(dirname "$0")/pages}")
export RAG_PAGES
cd "$(dirname "$0")"
sgi quiz "$RAG_PAGES"/*.md -n 100 -o quiz.jsonl
for system in rag worse_retriever worse_prompt worse_model; do
    sgi run quiz.jsonl --target "$system:answer" --name "$system" -m recall@3,grounding,completeness,correct_refusal -q
done
sgi diagnose rag worse_retriever worse_prompt worse_model
