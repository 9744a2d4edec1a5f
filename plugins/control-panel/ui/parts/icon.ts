/** Symbols of the panel, from lucide. A view imports the ones it shows, so that the first load has only its own. */
import { html, type TemplateResult } from "lit";
import type { IconNode } from "lucide";

const SVG = "http://www.w3.org/2000/svg";
const made = new WeakMap<IconNode, SVGSVGElement>();

/** A symbol beside a text. It is hidden from screen readers: the text, or the label of its button, says what it means. */
export function icon(node: IconNode): TemplateResult {
  return html`${drawn(node).cloneNode(true)}`;
}

function drawn(node: IconNode): SVGSVGElement {
  const known = made.get(node);
  if (known) return known;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  for (const [name, attributes] of node) {
    const part = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
    svg.append(part);
  }
  made.set(node, svg);
  return svg;
}
