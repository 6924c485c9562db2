// Live updates: the server says that something changed, and the page fetches itself again. Without this file
// the pages work as well; they are then as old as the last reload.
(() => {
  "use strict";
  const main = () => document.getElementById("main");
  document.documentElement.classList.add("has-script");

  // --- updates ---------------------------------------------------------------------------------------------

  const state = document.getElementById("live");
  let updating = false, again = false, timer = 0;

  const show = (word, css) => {
    if (!state) return;
    state.hidden = false;
    state.textContent = word;
    state.className = "live " + css;
  };

  // Which <details> are open, and the focused element, by keys that stay the same after an update.
  const remember = () => {
    const open = new Map();
    for (const part of main().querySelectorAll("details[data-key]")) open.set(part.dataset.key, part.open);
    return { open, path: pathOf(document.activeElement), x: scrollX, y: scrollY };
  };
  const pathOf = (element) => {
    if (!element || !main().contains(element) || element === main()) return null;
    if (element.id) return "#" + CSS.escape(element.id);
    if (element.getAttribute("href")) return `a[href="${CSS.escape(element.getAttribute("href"))}"]`;
    return null;
  };
  const restore = (before) => {
    for (const part of main().querySelectorAll("details[data-key]"))
      if (before.open.has(part.dataset.key)) part.open = before.open.get(part.dataset.key);
    const focused = before.path && main().querySelector(before.path);
    if (focused) focused.focus({ preventScroll: true });
    scrollTo(before.x, before.y);
  };
  const seen = () => new Set([...main().querySelectorAll("[data-app]")].map((row) => row.dataset.app));

  const typing = () => document.activeElement && document.activeElement.matches("input[type=search], select");

  async function update(url, push) {
    if (updating) { again = true; return; }
    updating = true;
    try {
      const response = await fetch(url || location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      if (response.redirected && new URL(response.url).pathname === "/login") { location.reload(); return; }
      const text = await response.text();
      const next = new DOMParser().parseFromString(text, "text/html");
      const fresh = next.getElementById("main");
      if (!fresh) return;
      if (push) history.replaceState(null, "", url);
      document.title = next.title;
      if (fresh.innerHTML !== main().innerHTML) {
        const before = remember(), apps = seen();
        const typed = document.activeElement && document.activeElement.id === "search" ? document.activeElement : null;
        const caret = typed ? [typed.value, typed.selectionStart, typed.selectionEnd] : null;
        main().innerHTML = fresh.innerHTML;
        if (caret) {
          const field = document.getElementById("search");
          if (field) { field.value = caret[0]; field.focus({ preventScroll: true }); field.setSelectionRange(caret[1], caret[2]); }
        }
        restore(before);
        if (!push && apps.size) for (const row of main().querySelectorAll("[data-app]")) if (!apps.has(row.dataset.app)) row.classList.add("fresh");
        const heading = main().querySelector("h1");
        if (heading && !push) announce(heading.textContent);
      }
    } catch (_) {
      // the stream reports whether the server is away
    } finally {
      updating = false;
      if (again) { again = false; later(); }
    }
  }
  let announced = "";
  const announce = (text) => {
    if (text === announced) return;
    announced = text;
    document.getElementById("announcer").textContent = text;
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(() => update(), 250); };

  if (state && "EventSource" in window) {
    const after = document.body.dataset.change || "";
    const stream = new EventSource("/api/v1/events?after=" + encodeURIComponent(after));
    stream.addEventListener("open", () => show("live", "on"));
    stream.addEventListener("error", () => show("reconnecting", "off"));
    for (const kind of ["app", "incident", "source"]) stream.addEventListener(kind, later);
    addEventListener("pagehide", () => stream.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }
  setInterval(() => { if (!document.hidden && !typing()) update(); }, 30000);

  // --- filters: applied while typing -----------------------------------------------------------------------

  let wait = 0;
  const submit = (form) => {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) values.set(name, value);
    const query = values.toString();
    update(form.getAttribute("action") + (query ? "?" + query : ""), true);
  };
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-live]");
    if (!form) return;
    clearTimeout(wait);
    wait = setTimeout(() => submit(form), event.target.matches("select") ? 0 : 200);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-live]")) return;
    event.preventDefault();
    submit(event.target);
  });

  // --- copy buttons and keys -------------------------------------------------------------------------------

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch (_) { done = false; }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    if (!done) getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    announce(button.textContent);
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });

  const rows = () => [...main().querySelectorAll(".rows a.app")];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && inField) { event.target.blur(); return; }
    if (inField) return;
    if (event.key === "/") {
      const field = document.getElementById("search");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    } else if (event.key === "j" || event.key === "k") {
      const links = rows();
      if (!links.length) return;
      const at = links.indexOf(document.activeElement);
      const next = event.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0);
      event.preventDefault();
      links[next].focus();
    }
  });
})();
