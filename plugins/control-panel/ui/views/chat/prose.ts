/** Markdown of messages, parsed once: rows that scroll out of sight and back keep their nodes. */
import { markdownNodes } from "../../parts/markdown.ts";

const parsed = new WeakMap<object, HTMLElement>();

/** The nodes of a text that never changes. @param owner the message that has the text */
export function prose(owner: object, text: string): HTMLElement {
  const known = parsed.get(owner);
  if (known) return known;
  const element = box();
  element.append(markdownNodes(text));
  parsed.set(owner, element);
  return element;
}

const growing = new WeakMap<object, { readonly element: HTMLElement; text: string }>();

/** As `prose`, for a text that grows: parts that did not change stay, and so does a selection in them. */
export function growingProse(owner: object, text: string): HTMLElement {
  let known = growing.get(owner);
  if (!known) growing.set(owner, (known = { element: box(), text: "" }));
  if (known.text === text) return known.element;
  known.text = text;
  const { element } = known;
  const next = [...markdownNodes(text).childNodes];
  let same = 0;
  while (same < next.length && element.childNodes[same]?.isEqualNode(next[same] ?? null) === true) same++;
  while (element.childNodes.length > same) element.lastChild?.remove();
  element.append(...next.slice(same));
  return element;
}

function box(): HTMLElement {
  const element = document.createElement("div");
  element.className = "prose";
  return element;
}
