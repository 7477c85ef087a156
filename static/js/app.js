// Small helps on top of pages that work without them.
"use strict";

// The token is read when sending: a log-in in another tab changes it.
document.addEventListener("htmx:configRequest", (event) => {
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  if (token) event.detail.headers["X-CSRFToken"] = token[1];
});

// What could not be sent stays on the page, with a word about what to do.
function say(text, link) {
  document.getElementById("connection")?.remove();
  const box = Object.assign(document.createElement("div"), { id: "connection", className: "banner bad" });
  box.setAttribute("role", "alert");
  box.append(document.createElement("span"), Object.assign(document.createElement("p"), { textContent: text }));
  if (link) box.append(Object.assign(document.createElement("a"), { ...link, className: "button", target: "_blank" }));
  document.body.append(box);
}
document.addEventListener("htmx:sendError", () => say("The server cannot be reached. What you typed is still here: try again in a moment."));
document.addEventListener("htmx:timeout", () => say("The server took too long. What you typed is still here: try again."));
document.addEventListener("htmx:afterSwap", () => document.getElementById("connection")?.remove());
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  if (status === 401) say("You are logged out. Log in in the other tab, then send this again: what you typed stays here.", { href: "/accounts/login/", textContent: "Log in" });
  else if (status === 403) say("This was not accepted: you may not do it, or you logged in anew meanwhile. Send it once more; what you typed stays here.");
  else if (status === 413) say("This is more than the server takes at once. Shorten the text: what you typed stays here.");
  else say(`The server answered ${status}. What you typed is still here: try again, or load the page anew.`);
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).open = true;

  // In a queue with room for it, the first click shows a proposal beside the list, the second opens it.
  const row = event.target.closest("[data-peek]");
  const peek = document.getElementById("peek");
  if (!row || !peek || !peek.checkVisibility() || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (row.closest("li").hasAttribute("aria-current")) return;
  event.preventDefault();
  const address = location.pathname + row.dataset.peek;
  htmx.ajax("GET", address, { target: "#main", swap: "innerHTML", push: address }).then(() => {
    document.querySelector(".rows [aria-current] a")?.focus({ preventScroll: true });
  });
});

// Browsers that do not know command buttons yet.
if (!("commandForElement" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[commandfor]");
    if (!button) return;
    const dialog = document.getElementById(button.getAttribute("commandfor"));
    if (button.getAttribute("command") === "close") dialog.close();
    else dialog.showModal();
  });
}

// Copying, where the browser lets a page do it.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("[data-copies]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
      button.textContent = "Copied";
    });
  }
}
