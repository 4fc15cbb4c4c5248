// The studio's script: asks the server for parts of pages and puts them in place. It decides nothing.
// For each place one request is out at a time, so an older answer never overwrites a newer one; typing never waits.

const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- asking the server

async function ask(url, form) {
  const options = { headers: { "X-Part": "1" }, credentials: "same-origin" };
  if (form) {
    options.method = "POST";
    options.body = new URLSearchParams(form);
  }
  let answer;
  try {
    answer = await fetch(url, options);
  } catch {
    throw new Error("The studio does not respond: is it still running? Your input stays on this page.");
  }
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.slice(0, 600));
  return { text };
}

function toast(message, bad = false) {
  const place = $("#toast");
  place.textContent = message;
  place.classList.toggle("bad", bad);
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { place.textContent = ""; }, bad ? 9000 : 3500);
}

// One request at a time for each place: while one is out, only the newest wish waits.
class Line {
  constructor() { this.busy = false; this.next = null; }
  push(work) {
    this.next = work;
    if (!this.busy) this.run();
  }
  async run() {
    this.busy = true;
    while (this.next) {
      const work = this.next;
      this.next = null;
      try { await work(() => this.next === null); } catch (error) { toast(error.message, true); }
    }
    this.busy = false;
  }
}

const debounced = (work, wait) => {
  let timer;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => work(...args), wait); };
};

// --- lists under filters

const alike = (query) => String(new URLSearchParams([...new URLSearchParams(query)].sort()));

function live(form) {
  const into = $(form.dataset.live), line = new Line();
  const fields = () => {
    const given = new URLSearchParams(new FormData(form));
    for (const [key, value] of [...given]) if (!value) given.delete(key);
    return given;
  };
  const go = () => line.push(async (newest) => {
    const url = `${form.getAttribute("action")}?${fields()}`;
    into.classList.add("waiting");
    try {
      const { text } = await ask(url);
      if (!newest()) return;
      into.innerHTML = text;
      history.replaceState(null, "", url);
      const now = alike(new URL(url, location).search);
      for (const link of all(".presets a")) {
        if (alike(link.search) === now) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    } finally { into.classList.remove("waiting"); }
  });
  const soon = debounced(go, 80);
  form.addEventListener("input", (event) => { if (!event.target.dataset.part) soon(); });
  form.addEventListener("change", async (event) => {  // what else can be asked depends on what was chosen
    const { part, into: where } = event.target.dataset;
    if (!part) return;
    try {
      $(where).innerHTML = (await ask(`${part}?${new URLSearchParams({ [event.target.name]: event.target.value })}`)).text;
    } catch (error) { toast(error.message, true); }
    go();
  });
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set]");
    if (!button) return;
    $(`[name=${button.dataset.set}]`, form).value = button.dataset.value;
    go();
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); go(); });
}

// --- the rule editor

function editor(root) {
  const line = new Line(), into = $("#preview"), notes = $("#wrong");
  const text = $("textarea[name=toml]", root);
  const saved = root.dataset.saved, url = "/rules/preview";
  const form = () => $("form[data-rule-form]", root);
  const ways = () => $("[role=tab][aria-selected=true]", root)?.dataset.way || "toml";
  let typed = false, pending = false;  // pending: typed, and not asked about yet
  let made = 0;  // how often the form was made anew
  const show = (how = "") => line.push(async (newest) => {
    const way = ways(), then = made;
    const given = way === "form" && form() ? new FormData(form()) : new FormData();
    given.set("way", way);
    given.set("toml", text.value);
    given.set("saved", saved);
    if (typed) given.set("typed", "1");
    if (how) given.set(how, "1");  // patient: slow rules as well; exact: all documents, not a sample
    into.classList.add("waiting");
    try {
      const { text: html } = await ask(url, given);
      if (then !== made) return;  // the form has other rules by now, and was asked about again
      const fresh = document.createElement("div");
      fresh.innerHTML = html;
      const now = $("#toml-now", fresh), note = $("[data-note]", fresh), what = note?.dataset.note;
      if (way === "form") text.value = now.value;
      now.remove();
      notes.replaceChildren(...(note ? [note] : []));
      for (const one of all("[aria-invalid]", root)) one.removeAttribute("aria-invalid");
      if (note?.dataset.field) $(`[name="${CSS.escape(note.dataset.field)}"]`, root)?.setAttribute("aria-invalid", "true");
      const stale = what === "wrong" && Boolean($(".facts", into));  // what was counted last stays, and is out of date
      into.classList.toggle("stale", stale);
      into.inert = stale;
      if (stale) return;
      into.replaceChildren(...fresh.children);
      if (what === "sampled" && newest() && !pending) show("exact");
    } finally { into.classList.remove("waiting"); }
  });
  const soon = debounced(() => { pending = false; show(); }, 40);
  const go = () => { pending = true; soon(); };
  // The form with a rule or a condition more, less or moved, or with the fields of another kind: the server makes it.
  const remake = async (act) => {
    while (line.busy || pending) await new Promise((done) => setTimeout(done, 20));
    const sent = () => { const given = new FormData(form()); given.set("toml", text.value); given.set("act", act); return given; };
    const same = (one, other) => String(new URLSearchParams(one)) === String(new URLSearchParams(other));
    const begun = document.activeElement;
    try {
      let given, html;
      do {
        given = sent();
        ({ text: html } = await ask("/rules/form", given));
      } while (!same(given, sent()));  // typed meanwhile: nothing is lost
      const last = document.activeElement, place = [last.selectionStart, last.selectionEnd];
      $("#rule-form").innerHTML = html;
      made += 1;
      text.value = $("#toml-then").value;
      const next = last === begun && $("[data-focus]:not(:disabled)", root);
      const again = last.name && $(`[name="${CSS.escape(last.name)}"]`, root);
      (next || again || root).focus?.();
      if (!next && again && place[0] != null) again.setSelectionRange(...place);
      typed = true;
      go();
    } catch (error) { toast(error.message, true); }
  };
  root.addEventListener("input", (event) => {
    typed = true;
    if (!("remake" in event.target.dataset)) go();
  });
  root.addEventListener("change", (event) => { if ("remake" in event.target.dataset) remake(""); });
  root.addEventListener("click", async (event) => {
    const act = event.target.closest("[data-act]"), tab = event.target.closest("[role=tab]");
    if (act) remake(act.dataset.act);
    if (tab) {
      if (tab.dataset.way === "form" && (typed || !form())) {  // the form shows what was typed as TOML
        try {
          const { text: html } = await ask("/rules/form", { toml: text.value });
          $("#rule-form").innerHTML = html;
          made += 1;
          $("[data-hint]", root)?.remove();
        } catch (error) { toast(error.message, true); return; }
      }
      for (const other of all("[role=tab]", root)) other.setAttribute("aria-selected", String(other === tab));
      for (const panel of all("[role=tabpanel]", root)) panel.hidden = panel.id !== tab.getAttribute("aria-controls");
    }
    if (event.target.closest("[data-save]")) save();
  });
  document.addEventListener("click", (event) => { if (event.target.closest("[data-patient]")) show("patient"); });
  const save = async () => {
    while (line.busy || pending) await new Promise((done) => setTimeout(done, 20));
    try {
      const { text: where } = await ask("/rules/save", { toml: text.value, saved, original: root.dataset.original });
      sessionStorage.setItem("toast", "Saved");
      location.href = where;
    } catch (error) { toast(error.message, true); }
  };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
  });
  if (!saved && form()) $("textarea", form()).focus();  // a new rule begins with its words
  show();
}

// --- writes

const counting = new Line();
async function label(card, value) {
  try {
    const { text } = await ask("/label/one", { row: card.dataset.row, label: value });
    if ("whole" in card.dataset) { location.reload(); return; }
    const here = card.classList.contains("here");
    card.outerHTML = text;
    const fresh = $(`[data-row="${card.dataset.row}"]`);
    if (here) { fresh.classList.add("here"); fresh.focus({ preventScroll: true }); }
    poll();
    const presets = $("#presets");  // a label changes their counts
    if (presets) counting.push(async (newest) => {
      const { text: list } = await ask(`/documents/presets${location.search}`);
      if (newest()) presets.innerHTML = list;
    });
  } catch (error) { toast(error.message, true); }
}

async function step(url) {
  try {
    const { text } = await ask(url, {});
    sessionStorage.setItem("toast", text);
    if (at() >= 0) sessionStorage.setItem("place", at());
    location.reload();
  } catch (error) { toast(error.message, true); }
}

async function posted(form, button) {
  if (form.dataset.ask && !confirm(form.dataset.ask)) return;
  const given = new FormData(form);
  if (button?.name) given.set(button.name, button.value);
  try {
    const { text } = await ask(form.dataset.post, given);
    if (form.dataset.into) {
      const place = at();
      $(form.dataset.into).innerHTML = text;
      if (place > 0) mark(place);  // the item that takes the place of the one that went
      const said = $("[data-said]");
      if (said) { toast(said.textContent); said.remove(); }
      started();
      poll();
      return;
    }
    sessionStorage.setItem("toast", text);
    sessionStorage.setItem("focus", button?.getAttribute("aria-label") || "");
    if (form.dataset.then === "reload") location.reload();
    else location.href = form.dataset.then;
  } catch (error) { toast(error.message, true); }
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("button, a, [data-fill]");
  if (!target) return;
  const card = target.closest("[data-row]");
  if (card && "label" in target.dataset) label(card, target.dataset.label);
  if (target.dataset.step) step(target.dataset.step);
  if (target.id === "help-open") $("#help").showModal();
  if (target.dataset.fill) $(`[name=${target.dataset.fill}]`).value = target.dataset.value;
  if (target.dataset.copy) {
    const shown = $(target.dataset.copy).textContent;
    navigator.clipboard?.writeText(shown).then(() => toast("Copied"), () => toast("The browser did not let it be copied", true));
  }
});
document.addEventListener("change", (event) => {
  const card = event.target.closest("[data-row]");
  if (card && "labelSelect" in event.target.dataset) label(card, event.target.value);
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.post) { event.preventDefault(); posted(form, event.submitter); }
});

// --- words marked in a document

function markedWords() {  // where both ends are in one document's text
  const chosen = getSelection();
  if (chosen.isCollapsed || !chosen.rangeCount) return;
  const texts = [chosen.anchorNode, chosen.focusNode].map((node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("[data-markable]"));
  if (!texts[0] || texts[0] !== texts[1]) return;
  const words = String(chosen).trim(), popup = $("#popup");
  if (popup.hidden || words !== popup.dataset.words) offered(words, chosen.getRangeAt(0));  // else forms may be ticked there
}
if (document.body.dataset.page === "documents") {
  const popup = $("#popup"), typed = $("[data-words]");
  document.addEventListener("mouseup", () => setTimeout(markedWords, 0));
  document.addEventListener("selectionchange", debounced(markedWords, 500));  // with the keyboard, or with a finger
  document.addEventListener("mousedown", (event) => { if (!event.target.closest("#popup")) popup.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || popup.hidden) return;
    if (popup.contains(document.activeElement)) typed?.focus();
    popup.hidden = true;
  });
  typed?.addEventListener("input", debounced(() => { if (document.activeElement === typed) offered(typed.value.trim(), typed); }, 120));
  typed?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") offered(typed.value.trim(), typed, true);
    if (event.key === "Escape") { typed.value = ""; popup.hidden = true; }
  });
}
const offers = new Line();
// The forms of some words, and the classes, to make a rule of.
function offered(words, below, focus = false) {
  if (!words || words.length > 200) return;
  const box = below.getBoundingClientRect(), popup = $("#popup");
  offers.push(async (newest) => {
    const { text } = await ask(`/marked?${new URLSearchParams({ words })}`);
    if (!newest()) return;
    popup.innerHTML = text;
    popup.dataset.words = words;
    popup.hidden = false;
    const left = Math.max(8, Math.min(box.left, innerWidth - popup.offsetWidth - 8));
    const room = innerHeight - box.bottom > popup.offsetHeight + 6 || box.top < popup.offsetHeight + 6;  // else it stands above
    popup.style.left = `${left + scrollX}px`;
    popup.style.top = `${scrollY + (room ? box.bottom + 6 : box.top - popup.offsetHeight - 6)}px`;
    if (focus) $("input:not([type=hidden]), button", popup)?.focus();
  });
}

// --- keys

let going = false;
const items = () => all("[data-list] [data-row], [data-list] [data-item]");
const at = () => items().findIndex((one) => one.classList.contains("here"));
function mark(place) {  // the item at this place, or the nearest one
  const found = items(), one = found[Math.max(0, Math.min(found.length - 1, place))];
  if (!one) return;
  for (const other of found) other.classList.toggle("here", other === one);
  one.focus({ preventScroll: true });
  one.scrollIntoView({ block: "nearest" });
}
const CLASS_KEYS = "1234567890ABCDEFGHIJKLMNOPQRSTVWXYZ";  // Shift and U is redo
const classKey = (event) => (event.key.length === 1 ? CLASS_KEYS.indexOf(event.key) : -1);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog[open]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = event.key;
  if (going) {
    going = false;
    const link = { d: "documents", r: "rules", s: "suggestions", l: "label", t: "train", o: "out" }[key];
    if (link) location.href = `/${link}`;
    return;
  }
  const here = $("[data-list] .here") || $("[data-whole]");
  const number = classKey(event), popup = $("#popup");
  if (popup && !popup.hidden && number >= 0) {  // it asks for a class: the document behind it is not meant
    all("button[name=class]", popup)[number]?.click();
    return;
  }
  if (popup && !popup.hidden && ["j", "k", "n", "p"].includes(key)) {  // on to another document
    popup.hidden = true;
    getSelection().removeAllRanges();
  }
  if (number >= 0) {
    const queue = $(`[data-answer-number="${number}"]`);
    if (queue) { queue.click(); return; }
    const card = here?.closest("[data-row]");
    const buttons = card ? all("[data-label]", card).filter((one) => one.dataset.label) : [];
    const options = card ? all("[data-label-select] option", card).slice(1) : [];
    const chosen = buttons[number]?.dataset.label ?? options[number]?.value;
    if (chosen !== undefined) label(card, chosen);
    return;
  }
  if (key === "g") { going = true; setTimeout(() => { going = false; }, 1200); }
  else if (key === "j") mark(at() + 1);
  else if (key === "k") mark(at() - 1);
  else if (key === "n") $("a[rel=next]")?.click();
  else if (key === "p") $("a[rel=prev]")?.click();
  else if (key === "m") { const words = $("[data-words]"); if (words) { event.preventDefault(); words.focus(); } }
  else if (key === "u" || key === "<") step("/undo");
  else if (key === "U") step("/redo");
  else if (key === "h" || (key === "?" && !$("[data-answer-none]"))) $("#help")?.showModal();
  else if (key === "/") { event.preventDefault(); $("[data-search]")?.focus(); }
  else if (key === "s") $("[data-answer-skip]")?.click();
  else if (key === "x" || key === "?") { const none = $("[data-answer-none]"); if (none) none.click(); else if (here) label(here, ""); }
  else if (key === "a" || key === "d") $(`[data-key="${key}"]`, here || document)?.click();
  else if (key === "Enter" && here && event.target === here) $("[data-open]", here)?.click();
});

// --- what goes on elsewhere

let running = false, quiet = 0;
async function poll() {
  clearTimeout(poll.timer);
  try {
    const found = JSON.parse((await ask("/status")).text);
    quiet = 0;
    for (const [name, there] of [["#outside", found.outside], ["#labels-outside", found.labels_outside]]) if ($(name)) $(name).hidden = !there;
    for (const name of ["undo", "redo"]) {
      const button = $(`#${name}`);
      if (!button) continue;
      button.disabled = !found[name];
      button.title = found[name] ? `${name === "undo" ? "Undo" : "Redo"}: ${found[name]}` : "";
    }
    const job = found.job, shown = $("#job");
    if (shown) {
      const busy = job?.state === "running";
      shown.textContent = busy ? `${job.what}${job.share === null ? " …" : ` ${Math.round(100 * job.share)}%`}` : job?.state === "failed" ? "failed" : "";
      if (!busy && (running || $("[data-running]"))) {  // or it ended before the first time of asking
        running = false;
        if (["train", "out", "suggestions"].includes(document.body.dataset.page)) { location.reload(); return; }
        toast(job?.state === "done" ? `${job.what}: done` : `${job?.what}: ${job?.error || job?.state}`, job?.state === "failed");
      }
      running = busy;
      for (const button of all("[data-begins]")) button.disabled = busy;
    }
    const part = $("[data-poll]");
    if (part && running) part.innerHTML = (await ask(part.dataset.poll)).text;
  } catch (error) {
    if (++quiet === 2) toast(error.message, true);
  }
  poll.timer = setTimeout(poll, running ? 700 : document.hidden ? 8000 : 2500);
}

function started() {
  for (const part of all("[data-load]")) {
    const url = part.dataset.load;
    delete part.dataset.load;
    ask(url).then(({ text }) => { part.innerHTML = text; }, (error) => { part.textContent = error.message; });
  }
}

if (innerWidth < 900) for (const part of all("[data-folds]")) part.open = false;
for (const form of all("form[data-live]")) live(form);
for (const root of all("[data-editor]")) editor(root);
started();
if ($("#undo")) poll();
const message = sessionStorage.getItem("toast");
if (message) { toast(message); sessionStorage.removeItem("toast"); }
const marked = sessionStorage.getItem("place");
if (marked) { mark(Number(marked)); sessionStorage.removeItem("place"); }
const pressed = sessionStorage.getItem("focus");  // before the page was loaded again: the keyboard goes on from there
sessionStorage.removeItem("focus");
if (pressed) {
  const names = [pressed, pressed.replace(/ off$/, " on"), pressed.replace(/ on$/, " off"), pressed.replace(/ up$/, " down"), pressed.replace(/ down$/, " up")];
  names.map((name) => $(`button[aria-label="${CSS.escape(name)}"]:not(:disabled)`)).find(Boolean)?.focus();
}
