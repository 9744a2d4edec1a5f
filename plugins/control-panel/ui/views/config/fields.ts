/** Draws the fields of the form: name, state and control; groups, lists and unions with the fields in them. */
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { ArrowDown, ArrowUp, Plus, RotateCcw, Trash2, Undo2 } from "lucide";
import { t } from "../../core/text.ts";
import { confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge } from "../../parts/show.ts";
import { changesOf, holdsSecret, own, reordered } from "./data.ts";
import { type Form, idOf, isChanged } from "./form.ts";
import {
  childOf,
  childrenOf,
  choicesOf,
  dataPath,
  type Field,
  fits,
  initialOf,
  isInItem,
  isItem,
  type Kind,
  kindOf,
  problemOf,
  type Schema,
  takesEntries,
  variantOf,
  variants,
} from "./schema.ts";
import { secret } from "./secret.ts";
import { choice, defaultText, json, number, text } from "./values.ts";
import { shown } from "./shown.ts";

type Draw = (form: Form, field: Field) => TemplateResult;

const EDITORS: Readonly<Record<Exclude<Kind, "group">, Draw>> = { choice, number, text, secret, list, union, json };

/** Kinds with several controls: their name is that of a group. */
const COMPOUND: ReadonlySet<Kind> = new Set(["list", "union", "secret"]);

/** A key with its title, description, state and control. */
export function drawField(form: Form, field: Field): TemplateResult | typeof nothing {
  if (!isVisible(form, field)) return nothing;
  if (field.kind === "group") return drawGroup(form, field);
  const { kind, label, help, path, isRequired } = field;
  const value = form.value(path);
  const name = isInItem(field) ? label : html`<span title=${dataPath(field)}>${label}</span>`;
  const isSet = value !== undefined;
  return html`<div class="cfg-field ${kind}" data-path=${dataPath(field)}>
    <div class="cfg-about">
      <div class="cfg-name">
        ${
          COMPOUND.has(kind)
            ? html`<strong id=${`${idOf(field)}-name`}>${name}</strong>`
            : html`<label for=${idOf(field)}>${name}</label>`
        }
        ${isRequired && !isSet ? badge(t.config.required, "warning") : nothing} ${marks(form, field)}
      </div>
      ${isInItem(field) ? nothing : html`<code class="quiet break">${dataPath(field)}</code>`}
      ${help === "" ? nothing : html`<p class="quiet break">${help}</p>`}
    </div>
    <div
      class="cfg-edit"
      role=${COMPOUND.has(kind) ? "group" : nothing}
      aria-labelledby=${COMPOUND.has(kind) ? `${idOf(field)}-name` : nothing}
    >
      ${EDITORS[kind](form, field)} ${problems(form, field)}
    </div>
  </div>`;
}

/** Fields of a group, without a frame. */
export function drawChildren(form: Form, field: Field): TemplateResult {
  const fields = childrenOf(field, form.hints, form.value(field.path), form.fallback(field));
  return html`<div class="cfg-children">
    ${fields.map((child) => drawField(form, child))}
    ${takesEntries(field) && form.mayWrite ? addEntry(form, field) : nothing}
  </div>`;
}

function isVisible(form: Form, field: Field): boolean {
  const isSet = form.value(field.path) !== undefined || isChanged(form, field);
  if (form.onlySet && !isSet) return false;
  return form.advanced || !field.advanced || isSet;
}

function drawGroup(form: Form, field: Field): TemplateResult {
  const { path, label, help, isEntry } = field;
  const isOpen = form.isOpen(path);
  const count = changesOf({}, form.value(path) ?? {}).length;
  const isOne = isItem(field);
  return html`<details
    class="cfg-group"
    data-path=${dataPath(field)}
    ?open=${live(isOpen)}
    @toggle=${(event: Event) => form.toggle(path, (event.currentTarget as HTMLDetailsElement).open)}
  >
    <summary>
      <strong class="break">${isOne ? titleOf(form.value(path), label) : label}</strong>
      ${count > 0 && !isOne ? badge(t.config.keysSet(count)) : nothing}
      ${isChanged(form, field) && !isOne ? badge(t.config.changed, "accent") : nothing}
      ${form.issuesAt(path).length > 0 ? badge(t.config.problem, "bad") : nothing}
    </summary>
    ${
      isOpen
        ? html`<div class="cfg-inside">
            ${help === "" ? nothing : html`<p class="quiet break">${help}</p>`} ${problems(form, field)}
            ${drawChildren(form, field)}
            ${
              form.mayWrite && !isOne && form.value(path) !== undefined
                ? html`<div class="actions">
                    <button @click=${() => form.remove(field)}>
                      ${isEntry ? icon(Trash2) : icon(RotateCcw)}${isEntry ? t.config.removeEntry(label) : t.config.resetGroup(label)}
                    </button>
                  </div>`
                : nothing
            }
          </div>`
        : nothing
    }
  </details>`;
}

/** What people call an item: its id or name. */
function titleOf(value: unknown, otherwise: string): string {
  const name = own(value, "id") ?? own(value, "name") ?? own(value, "label");
  return typeof name === "string" && name !== "" ? name : t.config.entry(otherwise);
}

function marks(form: Form, field: Field): TemplateResult | typeof nothing {
  const { path, label, reload, isRequired } = field;
  if (isInItem(field)) return nothing; // its list says it
  const isSet = form.value(path) !== undefined;
  const hasChanged = isChanged(form, field);
  return html`${hasChanged ? badge(t.config.changed, "accent") : isSet ? badge(t.config.set) : nothing}
  ${reload === "restart" ? badge(t.config.needsRestart, "warning") : nothing}
  ${
    hasChanged && form.mayWrite
      ? button(t.config.undoOf(label), Undo2, () => {
          form.typedOut(path);
          form.put(path, form.original(path));
        })
      : nothing
  }
  ${isSet && !hasChanged && !isRequired && form.mayWrite ? button(t.config.resetOf(label), RotateCcw, () => form.remove(field)) : nothing}`;
}

function button(
  label: string,
  symbol: Parameters<typeof icon>[0],
  run: () => void,
  isDisabled = false,
): TemplateResult {
  return html`<button class="plain" aria-label=${label} title=${label} ?disabled=${isDisabled} @click=${run}>
    ${icon(symbol)}
  </button>`;
}

function problems(form: Form, field: Field): TemplateResult {
  const { path, kind, schema } = field;
  const typed = form.typed(path);
  const own_ =
    kind === "text" || kind === "number" || kind === "secret" ? problemOf(schema, form.value(path)) : undefined;
  const texts = [
    ...(typed?.isWrong ? [kind === "json" ? t.config.problems.json : t.config.problems.number] : []),
    ...(own_ ? [problemText(own_)] : []),
    ...form.issuesAt(path).map(({ message }) => message),
  ];
  return html`${texts.map((text) => html`<p class="cfg-problem break" role="alert">${text}</p>`)}`;
}

function problemText(problem: NonNullable<ReturnType<typeof problemOf>>): string {
  const { problems: texts } = t.config;
  return "limit" in problem ? texts[problem.rule](problem.limit) : texts[problem.rule];
}

function list(form: Form, field: Field): TemplateResult {
  const { path, label, schema } = field;
  const value = form.value(path);
  if (value !== undefined && !Array.isArray(value)) return json(form, field);
  const items: readonly unknown[] = value ?? [];
  const fallback = form.fallback(field);
  const inherited: readonly unknown[] = Array.isArray(fallback) ? fallback : [];
  const item = variants(schema).find(({ items: one }) => one)?.items ?? {};
  const arrange = async (order: readonly number[]) => {
    const next = reordered(items, order);
    if (next.lost && !(await confirm({ title: label, text: t.config.secretsLost, action: t.config.continue }))) return;
    form.typedOut(path);
    form.put(path, next.items);
  };
  const all = items.map((_item, index) => index);
  const swapped = (a: number, b: number) => all.with(a, b).with(b, a);
  const add = () => {
    const start = value === undefined && !holdsSecret(inherited) ? inherited : items;
    form.put(path, [...start, initialOf(item)]);
    form.toggle([...path, start.length], true);
  };
  return html`${
    items.length === 0
      ? html`<p class="quiet break">
          ${value === undefined ? (inherited.length > 0 ? defaultText(form, field) : t.config.notSet) : t.config.emptyList}
        </p>`
      : html`<ol class="cfg-list">
          ${items.map((_value, index) => {
            const child = childOf(field, index, form.hints);
            const name = t.config.entryOf(label, index + 1);
            return html`<li class=${child.kind}>
              ${child.kind === "group" ? drawGroup(form, child) : scalarItem(form, { ...child, label: name })}
              ${
                form.mayWrite
                  ? html`<span class="cfg-tools">
                      ${button(t.config.up(name), ArrowUp, () => void arrange(swapped(index, index - 1)), index === 0)}
                      ${button(t.config.down(name), ArrowDown, () => void arrange(swapped(index, index + 1)), index === items.length - 1)}
                      ${button(t.config.removeEntry(name), Trash2, () => void arrange(all.toSpliced(index, 1)))}
                    </span>`
                  : nothing
              }
            </li>`;
          })}
        </ol>`
  }
  ${form.mayWrite ? html`<button @click=${add}>${icon(Plus)}${t.config.addTo(label)}</button>` : nothing}`;
}

/** An item without a heading: its name is only for screen readers. */
function scalarItem(form: Form, field: Field): TemplateResult {
  const kind = field.kind === "group" ? "json" : field.kind;
  return html`<div
    class="cfg-item"
    data-path=${dataPath(field)}
    role=${COMPOUND.has(kind) ? "group" : nothing}
    aria-label=${COMPOUND.has(kind) ? field.label : nothing}
  >
    ${COMPOUND.has(kind) ? nothing : html`<label class="unseen" for=${idOf(field)}>${field.label}</label>`}
    ${EDITORS[kind](form, field)} ${problems(form, field)}
  </div>`;
}

function union(form: Form, field: Field): TemplateResult {
  const { path, schema, sensitive } = field;
  const all = variants(schema);
  const value = form.value(path);
  const index = value === undefined ? -1 : variantOf(schema, value);
  const member = all[index];
  const id = `${idOf(field)}-kind`;
  return html`<select
      id=${id}
      aria-label=${t.config.kindOf(field.label)}
      ?disabled=${!form.mayWrite}
      @change=${(event: Event) => {
        const { value: picked } = event.target as HTMLSelectElement;
        form.typedOut(path);
        if (picked === "") form.remove(field);
        else form.put(path, initialOf(all[Number(picked)] ?? {}));
      }}
    >
      ${isItem(field) ? nothing : html`<option value="" .selected=${live(value === undefined)}>${defaultText(form, field)}</option>`}
      ${all.map((one, at) => html`<option value=${at} .selected=${live(at === index)}>${variantName(one, all)}</option>`)}
    </select>
    ${value === undefined ? nothing : member ? unionPart(form, { ...field, schema: member, kind: kindOf(member, sensitive) }) : json(form, field)}`;
}

function unionPart(form: Form, field: Field): TemplateResult {
  const { kind } = field;
  if (kind === "group") return drawChildren(form, field);
  if (kind === "choice" && choicesOf(field.schema)?.length === 1) return html``; // the kind says it
  if (COMPOUND.has(kind)) return EDITORS[kind](form, field);
  return html`<label class="unseen" for=${idOf(field)}>${field.label}</label>${EDITORS[kind](form, field)}`;
}

function variantName(one: Schema, all: readonly Schema[]): string {
  const choices = choicesOf(one);
  if (choices?.length === 1) return shown(choices[0]);
  const kind = kindOf(one, false);
  const name = t.config.kinds[kind];
  const isAlone = all.filter((other) => kindOf(other, false) === kind).length === 1;
  return isAlone ? name : `${name} ${all.indexOf(one) + 1}`;
}

function addEntry(form: Form, field: Field): TemplateResult {
  const id = `${idOf(field)}-new`;
  const pattern = variants(field.schema).find(({ propertyNames }) => propertyNames)?.propertyNames?.pattern ?? "";
  const name = field.label === "" ? dataPath(field) : field.label;
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const input = (event.target as HTMLFormElement).elements.namedItem("name") as HTMLInputElement;
    const key = input.value.trim();
    const isKnown = own(form.value(field.path), key) !== undefined;
    const isFit = key !== "" && fits(pattern, key) && !["__proto__", "prototype", "constructor"].includes(key);
    input.setCustomValidity(isKnown ? t.config.nameTaken : isFit ? "" : t.config.nameWrong);
    if (!input.reportValidity()) return;
    const child = childOf(field, key, form.hints);
    form.put(child.path, initialOf(child.schema));
    form.toggle(child.path, true);
    input.value = "";
  };
  return html`<form class="cfg-add" novalidate @submit=${add}>
    <label class="unseen" for=${id}>${t.config.newNameOf(name)}</label>
    <input
      id=${id}
      name="name"
      autocomplete="off"
      placeholder=${t.config.newName}
      @input=${(event: Event) => (event.target as HTMLInputElement).setCustomValidity("")}
    />
    <button aria-label=${t.config.addTo(name)}>${icon(Plus)}${t.config.add}</button>
  </form>`;
}
