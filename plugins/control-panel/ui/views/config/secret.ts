/** The control of a secret: the gateway never tells it, so it can only be replaced, referred to or removed. */
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { KeyRound, Link, Undo2 } from "lucide";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { badge } from "../../parts/show.ts";
import { holdsSecret, isObject, same } from "./data.ts";
import { type Form, idOf } from "./form.ts";
import { type Field, isInItem, mayRefer } from "./schema.ts";
import { secretText } from "./shown.ts";

const SOURCES = ["env", "file", "exec"];

export function secret(form: Form, field: Field): TemplateResult {
  const { path, schema, label } = field;
  const value = form.value(path);
  const original = form.original(path);
  const isTouched = value !== undefined && !same(value, original);
  const isKept = value !== undefined && holdsSecret(value) && !isObject(value);
  const isHere = isInItem(field) ? value !== undefined && value !== "" : original !== undefined;
  const back = () => (original === undefined ? form.remove(field) : form.put(path, original));
  const mayBack = isTouched && !isInItem(field);
  return html`<div class="line">
      ${value === undefined || value === "" ? badge(t.config.secretUnset) : badge(isKept || !isTouched ? secretState(value) : t.config.secretNew, isTouched && !isKept ? "accent" : "good")}
      ${
        form.mayWrite
          ? html`<button
                aria-label=${isHere ? t.config.replaceOf(label) : t.config.enterOf(label)}
                @click=${() => form.put(path, "")}
              >
                ${icon(KeyRound)}${isHere ? t.config.replace : t.config.enter}
              </button>
              ${
                mayRefer(schema) && !isObject(value)
                  ? html`<button
                      aria-label=${t.config.referOf(label)}
                      @click=${() => form.put(path, { source: "env", id: "" })}
                    >
                      ${icon(Link)}${t.config.refer}
                    </button>`
                  : nothing
              }
              ${mayBack ? html`<button aria-label=${t.config.undoOf(label)} @click=${back}>${icon(Undo2)}${t.config.undo}</button>` : nothing}`
          : nothing
      }
    </div>
    ${isObject(value) ? reference(form, field, value) : isTouched && !isKept ? entry(form, field, value) : nothing}`;
}

function secretState(value: unknown): string {
  const text = secretText(value);
  return text === t.config.hidden ? t.config.secretSet : text;
}

function entry(form: Form, field: Field, value: unknown): TemplateResult {
  return html`<input
      id=${idOf(field)}
      type="password"
      autocomplete="new-password"
      aria-label=${t.config.newSecretOf(field.label)}
      .value=${live(textOf(value))}
      ?disabled=${!form.mayWrite}
      @input=${(event: Event) => form.put(field.path, (event.target as HTMLInputElement).value)}
    /><small>${t.config.secretHint}</small>`;
}

/** Where the gateway reads the secret. Its name there is hidden, too: it may be one itself. */
function reference(form: Form, field: Field, value: Readonly<Record<string, unknown>>): TemplateResult {
  const { path } = field;
  const id = idOf(field);
  const source = textOf(value["source"]);
  const set = (key: string, next: string) => {
    const { [key]: _former, ...rest } = value;
    form.put(path, next === "" && key === "provider" ? rest : { ...rest, [key]: next });
  };
  const input = (key: string, label: string, placeholder: string, text: string) =>
    html`<label class="field" for=${`${id}-${key}`}>
      <span>${label}</span>
      <input
        id=${`${id}-${key}`}
        list=${key === "source" ? `${id}-sources` : nothing}
        autocomplete="off"
        spellcheck="false"
        placeholder=${placeholder}
        .value=${live(text)}
        ?disabled=${!form.mayWrite}
        @input=${(event: Event) => set(key, (event.target as HTMLInputElement).value)}
      />
    </label>`;
  const isHidden = holdsSecret(value["id"]);
  const hints: Readonly<Record<string, string>> = t.config.referenceIds;
  return html`<div class="cfg-reference">
    ${input("source", t.config.referenceSource, "env", source)}
    <datalist id=${`${id}-sources`}>${SOURCES.map((one) => html`<option value=${one}></option>`)}</datalist>
    ${input("provider", t.config.referenceProvider, t.config.default, textOf(value["provider"]))}
    ${input("id", t.config.referenceId, isHidden ? t.config.unchanged : (hints[source] ?? ""), isHidden ? "" : textOf(value["id"]))}
  </div>`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
