/** Taking mappings out of service and back, decided from the configuration file as it is written. Pure. */
import { invalidRequest, notFound } from "@svc/sdk";
import type { ConfigEdit } from "@svc/sdk/config";
import type { WebhookMappingRow } from "@svc/sdk/webhooks";

/** The file as parsed: no defaults, placeholders unresolved. */
type ParsedFile = Readonly<Record<string, unknown>>;

/** Ids a refusal names. Choice. */
const MOST_NAMED = 20;

/**
 * The mappings with this id: one, or the several of a preset.
 * @throws GatewayError `NOT_FOUND` naming those there are; `INVALID_REQUEST` when it is not clear which one is meant
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
  if (ids.length === 0) return "there are none";
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
  return `there are ${ids.slice(0, MOST_NAMED).join(", ")}${more}`;
}

/**
 * What has to be written so that these mappings serve, or do not; nothing when the file says so already.
 * @param rows what `rowsNamed` found @throws GatewayError `INVALID_REQUEST`: it stands where this file cannot change it
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
      `mapping "${id}" does not stand in the configuration file itself, or its id does not; set its "enabled" to ${enabled} where it stands`,
    );
  }
  const now = entry["enabled"] ?? true;
  return now === enabled ? [] : [{ path: ["hooks", "mappings", index, "enabled"], value: enabled }];
}

/** @param offElsewhere an included file may say that it is disabled, and it is */
function disabledEdits(hooks: ParsedFile, id: string, enabled: boolean, offElsewhere: boolean): readonly ConfigEdit[] {
  const path = ["hooks", "disabled"];
  const list = hooks["disabled"] ?? [];
  if (!Array.isArray(list))
    return invalidRequest("hooks.disabled is not a list of ids; correct it: svc config validate");
  if (list.includes(id)) {
    const rest: readonly unknown[] = list.filter((other) => other !== id);
    return enabled ? [{ path, value: rest.length > 0 ? rest : undefined }] : [];
  }
  if (!offElsewhere) return enabled ? [] : [{ path, value: [...(list as readonly unknown[]), id] }];
  if (!enabled) return [];
  return invalidRequest(`"${id}" is disabled by an included file; take it out of hooks.disabled there`);
}

/** Spec: http/webhooks.md §6.1. */
function idOf(entry: unknown, place: number): unknown {
  return isRecord(entry) ? (entry["id"] ?? `mapping-${place + 1}`) : undefined;
}

function isRecord(value: unknown): value is ParsedFile {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
