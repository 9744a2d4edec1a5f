/** Fields of forms, and their values. */
import { html, nothing, type TemplateResult } from "lit";

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string;
  readonly placeholder?: string;
  /** `text` by default. A `number` is 0 or more, and may have decimals. */
  readonly kind?: "text" | "password" | "number" | "multiline" | "datetime-local";
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Id of a `<datalist>` with suggestions. */
  readonly list?: string;
  readonly isRequired?: boolean;
}

/** Draws a field. A later drawing with the same value keeps what people typed. */
export function drawField(field: Field): TemplateResult {
  const { name, label, hint, value = "", placeholder = "", kind = "text", choices, list, isRequired = false } = field;
  const input = choices
    ? html`<select name=${name}>
        ${choices.map(([option, text]) => html`<option value=${option} ?selected=${option === value}>${text}</option>`)}
      </select>`
    : kind === "multiline"
      ? html`<textarea
          name=${name}
          rows="5"
          placeholder=${placeholder}
          ?required=${isRequired}
          .value=${value}
        ></textarea>`
      : html`<input
          name=${name}
          type=${kind}
          min=${kind === "number" ? 0 : nothing}
          step=${kind === "number" ? "any" : nothing}
          list=${list ?? nothing}
          placeholder=${placeholder}
          ?required=${isRequired}
          autocomplete="off"
          .value=${value}
        />`;
  return html`<label class="field">
    <span>${label}</span>${input}${hint === undefined ? nothing : html`<small>${hint}</small>`}
  </label>`;
}

/** The text of a field; empty if it is absent. */
export function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value : "";
}
