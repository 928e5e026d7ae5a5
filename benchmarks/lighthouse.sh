#!/bin/sh
# Measure pages with Lighthouse: sh benchmarks/lighthouse.sh FOLDER URL...
# FOLDER is where `npm install lighthouse` ran. CHROME_PATH names the browser. PRESET=desktop replaces the phone.
set -eu
folder=$1
shift
for url in "$@"; do
  "$folder/node_modules/.bin/lighthouse" "$url" --quiet ${PRESET:+--preset="$PRESET"} \
    --chrome-flags="--headless=new --no-sandbox" --only-categories=performance,accessibility --output=json |
    node -e '
const { categories, audits } = JSON.parse(require("fs").readFileSync(0));
const scores = Object.values(categories).map(({ id, score }) => `${id} ${Math.round(100 * score)}`);
const names = ["first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift"];
console.log(process.argv[1], ...scores, ...names.map((name) => audits[name].displayValue));' "$url"
done
