/** Values of the configuration as people read them; secrets stay hidden. */
import { t } from "../../core/text.ts";
import { holdsSecret, isObject, isPlaceholder } from "./data.ts";
import { childOf, type Field, type Hints } from "./schema.ts";

/** In one line; the pieces of a list are separated by commas. */
export function shown(value: unknown, field?: Field, hints: Hints = {}): string {
  if (value === undefined) return t.config.notSet;
  if (field?.kind === "secret" || field?.sensitive === true) return secretText(value);
  if (value === true) return t.common.on;
  if (value === false) return t.common.off;
  if (typeof value === "string")
    return value === "" ? t.config.emptyText : holdsSecret(value) ? t.config.hidden : value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) => shown(item, field && childOf(field, index, hints), hints));
    return items.length === 0 ? t.config.emptyList : items.join(", ");
  }
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, item]) => `${key}: ${shown(item, field && childOf(field, key, hints), hints)}`,
  );
  return entries.length === 0 ? t.config.emptyGroup : `{ ${entries.join(", ")} }`;
}

/** Whether a secret is there, never its text. A placeholder and the source of a reference are no secrets. */
export function secretText(value: unknown): string {
  if (isObject(value)) {
    const { source, provider } = value;
    return typeof source === "string"
      ? t.config.reference(typeof provider === "string" ? `${source} · ${provider}` : source)
      : t.config.hidden;
  }
  if (typeof value === "string" && isPlaceholder(value)) return value;
  return value === "" || value === undefined ? t.config.notSet : t.config.hidden;
}
