/** Controls of single values: choices, texts, numbers, and JSON for what has no control of its own. */
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { t } from "../../core/text.ts";
import { holdsSecret, isPlaceholder, same } from "./data.ts";
import { type Form, idOf } from "./form.ts";
import { choicesOf, type Field, isItem } from "./schema.ts";
import { secret } from "./secret.ts";
import { shown } from "./shown.ts";

/** Says what applies while nothing is set. */
export function defaultText(form: Form, field: Field): string {
  const fallback = form.fallback(field);
  return fallback === undefined || fallback === "" ? t.config.default : t.config.defaultOf(shown(fallback, field));
}

export function choice(form: Form, field: Field): TemplateResult {
  const { path } = field;
  const choices = choicesOf(field.schema) ?? [];
  const value = form.value(path);
  const index = choices.findIndex((one) => same(one, value));
  const isForeign = value !== undefined && index < 0; // e.g. a placeholder
  return html`<select
    id=${idOf(field)}
    ?disabled=${!form.mayWrite}
    @change=${(event: Event) => {
      const { value: picked } = event.target as HTMLSelectElement;
      if (picked === "") form.remove(field);
      else if (picked !== "foreign") form.put(path, choices[Number(picked)]);
    }}
  >
    ${isItem(field) ? nothing : html`<option value="" .selected=${live(value === undefined)}>${defaultText(form, field)}</option>`}
    ${isForeign ? html`<option value="foreign" .selected=${live(true)}>${shown(value, field)}</option>` : nothing}
    ${choices.map((one, at) => html`<option value=${at} .selected=${live(at === index)}>${shown(one, field)}</option>`)}
  </select>`;
}

export function text(form: Form, field: Field): TemplateResult {
  const { path, placeholder } = field;
  const value = form.value(path);
  if (typeof value === "string" && holdsSecret(value)) return secret(form, field); // e.g. an address with a password
  if (value !== undefined && typeof value !== "string") return json(form, field);
  const fallback = form.fallback(field);
  const hint = typeof fallback === "string" && fallback !== "" && value === undefined ? fallback : placeholder;
  const change = (event: Event) => {
    const { value: typed } = event.target as HTMLInputElement;
    if (typed === "" && form.original(path) === undefined && !isItem(field)) form.remove(field);
    else form.put(path, typed);
  };
  const isLong = (value ?? hint).includes("\n");
  return isLong
    ? html`<textarea
        id=${idOf(field)}
        rows="4"
        placeholder=${hint}
        .value=${live(value ?? "")}
        ?disabled=${!form.mayWrite}
        @input=${change}
      ></textarea>`
    : html`<input
        id=${idOf(field)}
        autocomplete="off"
        spellcheck="false"
        placeholder=${hint}
        .value=${live(value ?? "")}
        ?disabled=${!form.mayWrite}
        @input=${change}
      />`;
}

export function number(form: Form, field: Field): TemplateResult {
  const { path, schema } = field;
  const value = form.value(path);
  const fallback = form.fallback(field);
  const [low, high] = [schema.minimum ?? schema.exclusiveMinimum, schema.maximum];
  return html`<input
      id=${idOf(field)}
      class="cfg-number"
      inputmode="decimal"
      autocomplete="off"
      placeholder=${typeof fallback === "number" ? String(fallback) : ""}
      .value=${live(form.typed(path)?.text ?? (typeof value === "number" ? String(value) : typeof value === "string" ? value : ""))}
      ?disabled=${!form.mayWrite}
      @input=${(event: Event) => {
        const { value: typed } = event.target as HTMLInputElement;
        const isEmpty = typed.trim() === "";
        if (isEmpty && !isItem(field)) return form.remove(field);
        const read = Number(typed.replace(",", "."));
        const isWrong = isEmpty || (!Number.isFinite(read) && !isPlaceholder(typed));
        if (!isWrong) form.put(path, Number.isFinite(read) ? read : typed);
        form.type(path, typed, isWrong);
      }}
      @change=${() => form.typed(path)?.isWrong || form.typedOut(path)}
    />${
      low === undefined && high === undefined
        ? nothing
        : html`<small
            >${low === undefined ? t.config.atMost(high ?? 0) : high === undefined ? t.config.atLeast(low) : t.config.between(low, high)}</small
          >`
    }`;
}

export function json(form: Form, field: Field): TemplateResult {
  const { path } = field;
  const value = form.value(path);
  const fallback = form.fallback(field);
  const written = form.typed(path)?.text ?? (value === undefined ? "" : JSON.stringify(value, undefined, 2));
  return html`<textarea
    id=${idOf(field)}
    class="mono"
    rows=${Math.min(12, Math.max(2, written.split("\n").length))}
    spellcheck="false"
    placeholder=${fallback === undefined ? t.config.jsonHint : JSON.stringify(fallback)}
    .value=${live(written)}
    ?disabled=${!form.mayWrite}
    @input=${(event: Event) => {
      const { value: typed } = event.target as HTMLTextAreaElement;
      if (typed.trim() === "" && !isItem(field)) return form.remove(field);
      const read = parsed(typed);
      if (read) form.put(path, read.value);
      form.type(path, typed, !read);
    }}
    @change=${() => form.typed(path)?.isWrong || form.typedOut(path)}
  ></textarea>`;
}

/** `null` cannot be written: in a merge patch it removes. */
function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value === null ? undefined : { value };
  } catch {
    return undefined;
  }
}
