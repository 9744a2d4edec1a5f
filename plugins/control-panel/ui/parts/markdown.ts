/** Markdown of people and models as safe nodes: no script, no style, no request to any server. */
import DOMPurify, { type Config } from "dompurify";
import { Marked } from "marked";
import { t } from "../core/text.ts";
import { copy } from "./command.ts";

/** HTML in a text stays text, except for these tags without attributes. So nothing that is written becomes an element with a source or a handler. */
const PLAIN_TAG = /&lt;(\/?(?:b|br|code|del|details|em|i|kbd|p|s|strong|sub|summary|sup))\s*\/?&gt;/gi;
const ESCAPED: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => ESCAPED[char] ?? char).replace(PLAIN_TAG, "<$1>");

const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: { html: ({ text }) => escaped(text) },
});

/** Marks an image of another server, which becomes a link. */
const REMOTE = "data-remote";

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  }
  if (!/^language-[\w+#-]+$/.test(node.getAttribute("class") ?? "")) node.removeAttribute("class"); // no look of the panel
  if (node.nodeName !== "IMG") return;
  const source = node.getAttribute("src") ?? "";
  if (/^data:image\/(png|jpe?g|gif|webp);/i.test(source)) return;
  node.removeAttribute("src"); // before the node gets into the document, where it would be loaded
  node.setAttribute(REMOTE, source);
});

const RULES: Config & { readonly RETURN_DOM_FRAGMENT: true } = {
  ALLOWED_TAGS:
    "a b blockquote br code del details em h1 h2 h3 h4 h5 h6 hr i img input kbd li ol p pre s span strong sub summary sup table tbody td th thead tr ul".split(
      " ",
    ),
  ALLOWED_ATTR: ["href", "title", "alt", "src", "align", "checked", "disabled", "type", "start", "class", "open"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpe?g|gif|webp);)/i,
  RETURN_DOM_FRAGMENT: true,
};

/** An image of another server is a link: loading it would tell that server who reads the message, and when. */
function linkTo(image: HTMLImageElement): HTMLElement {
  const source = image.getAttribute(REMOTE) ?? "";
  const link = document.createElement(/^https?:/i.test(source) ? "a" : "span") as HTMLAnchorElement;
  if (link.nodeName === "A") link.href = source;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  link.textContent = image.alt === "" ? t.common.image : image.alt;
  return link;
}

/** Nodes for a text. Code blocks get a button that copies them. */
export function markdownNodes(text: string): DocumentFragment {
  const fragment = purify.sanitize(marked.parse(text) as string, RULES) as unknown as DocumentFragment;
  for (const image of fragment.querySelectorAll<HTMLImageElement>(`img[${REMOTE}]`)) image.replaceWith(linkTo(image));
  for (const input of fragment.querySelectorAll("input")) {
    if (input.type === "checkbox") input.disabled = true;
    else input.remove();
  }
  for (const block of fragment.querySelectorAll("pre")) withCopyButton(block);
  for (const table of fragment.querySelectorAll("table")) {
    const around = document.createElement("div");
    around.className = "table-scroll";
    table.replaceWith(around);
    around.append(table);
  }
  return fragment;
}

function withCopyButton(block: HTMLPreElement): void {
  block.tabIndex = 0; // long lines scroll, also by keyboard
  const code = block.querySelector("code");
  const language = /language-([\w+#-]+)/.exec(code?.className ?? "")?.[1];
  const around = document.createElement("div");
  around.className = "code";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  const name = document.createElement("span");
  name.textContent = language ?? "";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.dataset["copy"] = "";
  button.textContent = t.common.copy;
  bar.append(name, button);
  block.replaceWith(around);
  around.append(bar, block);
}

/** Handles clicks on the copy buttons of the page. */
export function copyOnClick(): void {
  document.addEventListener("click", (event) => {
    const button = (event.target as Element | null)?.closest<HTMLButtonElement>("button[data-copy]");
    const code = button?.closest(".code")?.querySelector("pre")?.textContent;
    if (code !== undefined && code !== null) copy(code.replace(/\n$/, ""));
  });
}
