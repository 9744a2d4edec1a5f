/** Data of unknown shape as people read it: facts, lists, pictures. Everything in it is text. */
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../core/text.ts";
import { facts } from "./show.ts";
import "./value.css";

const MAX_CHARS = 20_000;
const MAX_ITEMS = 100;
const MAX_DEPTH = 6;
const PICTURE = /^data:image\/(?:png|jpe?g|gif|webp);base64,/i;
const FORMATS: Readonly<Record<string, string>> = { png: "png", jpg: "jpeg", jpeg: "jpeg", gif: "gif", webp: "webp" };

export function readable(value: unknown, depth = 0): TemplateResult {
  if (value === undefined || value === null || value === "") return html`<span class="quiet">–</span>`;
  if (typeof value === "boolean") return html`${value ? t.common.yes : t.common.no}`;
  if (typeof value === "string") return ofText(value);
  if (typeof value !== "object") return html`${typeof value === "number" ? value : ""}`; // JSON has no other kinds
  if (depth >= MAX_DEPTH) return ofText(JSON.stringify(value, undefined, 1));
  if (Array.isArray(value)) return ofList(value, depth);
  const { base64, ...rest } = value as Readonly<Record<string, unknown>>;
  const picture = typeof base64 === "string" ? pictureOf(base64, rest) : undefined;
  const shown = Object.entries(picture === undefined ? value : rest).slice(0, MAX_ITEMS);
  return html`${picture ?? nothing}${facts(shown.map(([key, item]) => [key, readable(item, depth + 1)]))}`;
}

function ofText(text: string): TemplateResult {
  if (PICTURE.test(text)) return html`<img class="picture" src=${text} alt=${t.common.image} />`;
  const shown = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)} …` : text;
  return shown.includes("\n") ? html`<pre class="long">${shown}</pre>` : html`<span class="break">${shown}</span>`;
}

function ofList(list: readonly unknown[], depth: number): TemplateResult {
  const isPlain = list.every((item) => typeof item !== "object" || item === null);
  const shown = list.slice(0, MAX_ITEMS);
  const more = list.length > MAX_ITEMS ? ` … (${list.length})` : "";
  if (isPlain) return html`<span class="break">${shown.map(String).join(", ")}${more}</span>`;
  return html`<ol class="values">
    ${shown.map((item) => html`<li>${readable(item, depth + 1)}</li>`)}${more === "" ? nothing : html`<li>${more}</li>`}
  </ol>`;
}

/** A picture as devices return it: `{ base64, format: "png" }`, or with `mimeType`. */
function pictureOf(
  base64: string,
  { format, mimeType }: Readonly<Record<string, unknown>>,
): TemplateResult | undefined {
  const name = typeof format === "string" ? format : typeof mimeType === "string" ? mimeType.split("/")[1] : undefined;
  const type = FORMATS[name?.toLowerCase() ?? ""];
  if (type === undefined) return undefined;
  return html`<img class="picture" src=${`data:image/${type};base64,${base64}`} alt=${t.common.image} />`;
}
