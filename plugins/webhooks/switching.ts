/** Enables and disables mappings, based on the configuration file as written. Pure. */
import { invalidRequest, notFound } from "@svc/sdk";
import type { ConfigEdit } from "@svc/sdk/config";
import type { WebhookMappingRow } from "@svc/sdk/webhooks";

/** The parsed file: no defaults, placeholders unresolved. */
type ParsedFile = Readonly<Record<string, unknown>>;

/** Choice: most ids that a refusal lists. */
const MOST_NAMED = 20;

/**
 * The mappings with this id: one, or several of a preset.
 * @throws GatewayError `NOT_FOUND` listing the existing ids; `INVALID_REQUEST` if the id is ambiguous
 */
export function rowsNamed(rows: readonly WebhookMappingRow[], id: string): readonly WebhookMappingRow[] {
  const named = rows.filter((row) => row.id === id);
  if (named.length === 0) notFound(`no mapping "${id}"; ${known(rows)}`);
  if (named.length > 1 && named.some(({ origin }) => origin === "config")) {
    const origins = named.map(({ origin }) => origin).join(", ");
    invalidRequest(
      `"${id}" is the id of ${named.length} mappings (${origins}); give the one in hooks.mappings another id`,
    );
  }
  return named;
}

function known(rows: readonly WebhookMappingRow[]): string {
  const ids = [...new Set(rows.map(({ id }) => id))];
  if (ids.length === 0) return "none is configured";
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
  return `configured: ${ids.slice(0, MOST_NAMED).join(", ")}${more}`;
}

/**
 * The edits that enable or disable these mappings; none if the file already says so.
 * @param rows the result of `rowsNamed` @throws GatewayError `INVALID_REQUEST` if the setting is not in this file
 */
export function switchEdits(
  parsed: ParsedFile,
  rows: readonly WebhookMappingRow[],
  enabled: boolean,
): readonly ConfigEdit[] {
  const [first] = rows;
  if (!first) return [];
  const hooks = isRecord(parsed["hooks"]) ? parsed["hooks"] : {};
  if (first.origin === "config") return mappingEdits(hooks, first.id, enabled);
  const included = "$include" in parsed || "$include" in hooks;
  return disabledEdits(hooks, first.id, enabled, included && rows.every((row) => !row.enabled));
}

function mappingEdits(hooks: ParsedFile, id: string, enabled: boolean): readonly ConfigEdit[] {
  const list: readonly unknown[] = Array.isArray(hooks["mappings"]) ? hooks["mappings"] : [];
  const index = list.findIndex((entry, place) => idOf(entry, place) === id);
  const entry = list[index];
  if (!isRecord(entry)) {
    return invalidRequest(
      `mapping "${id}" or its id is not in the configuration file itself; set its "enabled" to ${enabled} in the file that has it`,
    );
  }
  const now = entry["enabled"] ?? true;
  return now === enabled ? [] : [{ path: ["hooks", "mappings", index, "enabled"], value: enabled }];
}

/** @param offElsewhere the mapping is disabled, and an included file may be the cause */
function disabledEdits(hooks: ParsedFile, id: string, enabled: boolean, offElsewhere: boolean): readonly ConfigEdit[] {
  const path = ["hooks", "disabled"];
  const list = hooks["disabled"] ?? [];
  if (!Array.isArray(list)) return invalidRequest("hooks.disabled is not a list of ids; fix it: svc config validate");
  if (list.includes(id)) {
    const rest: readonly unknown[] = list.filter((other) => other !== id);
    return enabled ? [{ path, value: rest.length > 0 ? rest : undefined }] : [];
  }
  if (!offElsewhere) return enabled ? [] : [{ path, value: [...(list as readonly unknown[]), id] }];
  if (!enabled) return [];
  return invalidRequest(`"${id}" is disabled by an included file; remove it from hooks.disabled there`);
}

/** Spec: http/webhooks.md §6.1. */
function idOf(entry: unknown, place: number): unknown {
  return isRecord(entry) ? (entry["id"] ?? `mapping-${place + 1}`) : undefined;
}

function isRecord(value: unknown): value is ParsedFile {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
