/** A QR code, drawn in the page: black on white whatever the theme, because cameras need it so. */
import { html, nothing, type TemplateResult } from "lit";
import { until } from "lit/directives/until.js";
import { svgElement } from "./icon.ts";
import { waiting } from "./show.ts";
import "./qr.css";

let last: { readonly key: string; readonly drawn: Promise<Node | typeof nothing> } | undefined;

/** @param label what the code is for, for screen readers. Nothing is drawn for a text that is too long for a code. */
export function qr(text: string, label: string): TemplateResult {
  const key = `${label}\n${text}`;
  if (last?.key !== key) last = { key, drawn: draw(text, label).catch(() => nothing) };
  return html`<div class="qr">${until(last.drawn, waiting())}</div>`;
}

async function draw(text: string, label: string): Promise<Node> {
  const { encode } = await import("uqr");
  const { data, size } = encode(text, { border: 3 });
  const dots = data.flatMap((row, y) => row.flatMap((isBlack, x) => (isBlack ? [`M${x} ${y}h1v1h-1z`] : [])));
  const svg = svgElement("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label });
  svg.append(svgElement("rect", { width: size, height: size, fill: "#fff" }));
  svg.append(svgElement("path", { d: dots.join(""), fill: "#000", "shape-rendering": "crispEdges" }));
  return svg;
}
