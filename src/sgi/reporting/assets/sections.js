// Closed sections of a page: a link into one opens it, and all are open on paper.
"use strict";
(() => {
  // Users can type addresses: text that is not a valid escape stays as it is.
  function unescaped(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  function openTarget() {
    let target = document.getElementById(unescaped(location.hash.slice(1)));
    for (; target instanceof HTMLDetailsElement; target = target.parentElement.closest("details")) target.open = true;
  }

  addEventListener("hashchange", openTarget);
  openTarget();
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href^="#"]')) setTimeout(openTarget);
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.section:not([open])")];
    for (const section of opened) section.open = true;
  });
  addEventListener("afterprint", () => {
    for (const section of opened) section.open = false;
  });
})();
