/** Symbols of the panel, from lucide. A view imports the ones it shows, so that the first load has only its own. */
import { html, type TemplateResult } from "lit";
import type { IconNode } from "lucide";

const SVG = "http://www.w3.org/2000/svg";
const made = new WeakMap<IconNode, SVGElement>();

/** A symbol beside a text. It is hidden from screen readers: the text, or the label of its button, says what it means. */
export function icon(node: IconNode): TemplateResult {
  return html`${drawn(node).cloneNode(true)}`;
}

function drawn(node: IconNode): SVGElement {
  const known = made.get(node);
  if (known) return known;
  const svg = svgElement("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" });
  svg.append(...node.map(([name, attributes]) => svgElement(name, attributes)));
  made.set(node, svg);
  return svg;
}

export function svgElement(name: string, attributes: IconNode[number][1]): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
