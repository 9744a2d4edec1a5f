/** Jobs, runs, devices and nodes of the source as records. Pure; both generations use it. Facts: protocol/stores.md. */
import type { ImportItem } from "@svc/kit/import";
import type { DeviceRecord, ImportRecord, NodeRecord } from "@svc/sdk/import";
import { isRecord, numberIn, textIn, textsIn } from "./values.ts";

type Values = Readonly<Record<string, unknown>>;

/** Fields of a job, of its payload and of its delivery that have a meaning here. */
const FIELDS = {
  job: wordsIn(
    "id agentId sessionKey description name enabled deleteAfterRun createdAtMs updatedAtMs schedule sessionTarget " +
      "wakeMode payload delivery failureAlert catchUp overlap state",
  ),
  payload: wordsIn(
    "kind text message model fallbacks thinking timeoutSeconds allowUnsafeExternalContent lightContext deliver " +
      "channel to bestEffortDeliver",
  ),
  delivery: wordsIn("mode channel to accountId bestEffort failureDestination"),
};

/** Fields that change nothing when they have these values. */
const HARMLESS: Readonly<Record<string, (value: unknown) => boolean>> = {
  notify: () => true,
  declarationKey: () => true,
  displayName: () => true,
  scheduledToolPolicy: (value) => isRecord(value) && value["mode"] === "trusted",
  toolsAllow: (value) => textsIn(value).includes("*"),
  toolsAllowIsDefault: () => true,
};

/**
 * A job comes in disabled when its channel is not here, or when it has a field without a meaning here: such a field
 * may restrict what the job does. `undefined`: it is no job; `tell` says why.
 */
export function jobOf(
  job: unknown,
  channels: ReadonlySet<string>,
  tell: (item: ImportItem) => void,
): ImportRecord | undefined {
  const id = isRecord(job) ? textIn(job["id"]) : undefined;
  if (!isRecord(job) || id === undefined) {
    tell({ kind: "cron-job", id: "without an id", action: "refuse", reason: "the entry has no id" });
    return undefined;
  }
  const { schedule } = job;
  const [payload, delivery] = [job["payload"], job["delivery"]].map((value) => (isRecord(value) ? value : undefined));
  const channel = textIn(delivery?.["channel"]);
  const isReachable = channel === undefined || channel === "last" || channels.has(channel.toLowerCase());
  const unread = [
    ...unreadIn(job, FIELDS.job),
    ...unreadIn(payload ?? {}, FIELDS.payload),
    ...unreadIn(delivery ?? {}, FIELDS.delivery),
  ];
  const isOn = job["enabled"] !== false;
  const convert = (reason: string, next: string) => {
    if (isOn) tell({ kind: "cron-job", id, action: "convert", reason: `"${name}" ${reason}`, next, added: 0 });
  };
  const name = textIn(job["name"]) ?? id;
  if (!isReachable)
    convert(
      `delivers to ${channel}, which no plugin here serves; it comes in disabled`,
      `set up ${channel}, then: svc cron enable ${id}`,
    );
  if (unread.length > 0)
    convert(
      `has ${unread.join(", ")}, which nothing here reads; it comes in disabled`,
      `read what it does, then: svc cron enable ${id}`,
    );
  const state = isRecord(job["state"]) ? job["state"] : {};
  return {
    ...only(job, FIELDS.job),
    id,
    enabled: isReachable && unread.length === 0 && isOn,
    schedule: scheduleOf(schedule),
    ...(payload ? { payload: only(payload, FIELDS.payload) } : {}),
    ...(delivery ? { delivery: only(delivery, FIELDS.delivery) } : {}),
    state: without(state, ["runningAtMs"]),
  } as ImportRecord; // the owner of the extension point checks it
}

/** Names of fields that may have an effect which is lost here. */
function unreadIn(values: Values, known: ReadonlySet<string>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    known.has(name) || value === null || HARMLESS[name]?.(value) === true ? [] : [name],
  );
}

function only(values: Values, known: ReadonlySet<string>): Values {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => known.has(name) && value !== null));
}

function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** Older files name the fields of a schedule differently. */
function scheduleOf(schedule: unknown): unknown {
  if (!isRecord(schedule)) return schedule;
  const { cron, atMs, ...others } = schedule;
  const at = numberIn(atMs);
  return {
    ...others,
    ...(typeof cron === "string" && !("expr" in others) ? { expr: cron } : {}),
    ...(at !== undefined && !("at" in others) ? { at: new Date(at).toISOString() } : {}),
  };
}

/** `undefined` for a line that is no run that has ended. */
export function runOf(entry: Values): ImportRecord | undefined {
  const { jobId, ts, action } = entry;
  if (typeof jobId !== "string" || typeof ts !== "number" || action !== "finished") return undefined;
  return { id: `${jobId}/${ts}`, entry } as ImportRecord;
}

/** `undefined` for an entry without an id. Tokens that were revoked are left out. */
export function deviceOf(device: unknown): DeviceRecord | undefined {
  if (!isRecord(device)) return undefined;
  const id = textIn(device["deviceId"]);
  if (id === undefined) return undefined;
  const createdAt = numberIn(device["createdAtMs"]) ?? 0;
  const role = textIn(device["role"]);
  const tokens = Object.values(isRecord(device["tokens"]) ? device["tokens"] : {}).flatMap((token) => {
    if (!isRecord(token) || token["revokedAtMs"] !== undefined) return [];
    const [value, ofRole] = [textIn(token["token"]), textIn(token["role"])];
    if (value === undefined || ofRole === undefined) return [];
    return [
      { role: ofRole, scopes: textsIn(token["scopes"]), value, createdAt: numberIn(token["createdAtMs"]) ?? createdAt },
    ];
  });
  const roles = textsIn(device["roles"]);
  return {
    id,
    publicKey: textIn(device["publicKey"]) ?? "",
    ...picked(device, ["displayName", "platform", "deviceFamily", "clientId", "clientMode"]),
    roles: roles.length > 0 || role === undefined ? roles : [role],
    ...(Array.isArray(device["approvedScopes"]) ? { approvedScopes: textsIn(device["approvedScopes"]) } : {}),
    tokens,
    createdAt,
    approvedAt: numberIn(device["approvedAtMs"]) ?? createdAt,
  };
}

/** A node of the older store. `undefined` for an entry without an id. */
export function nodeOf(node: unknown): NodeRecord | undefined {
  if (!isRecord(node)) return undefined;
  const id = textIn(node["nodeId"]);
  if (id === undefined) return undefined;
  const createdAt = numberIn(node["createdAtMs"]) ?? 0;
  return {
    id,
    token: textIn(node["token"]) ?? "",
    ...picked(node, ["displayName", "platform", "version"]),
    ...(Array.isArray(node["commands"]) ? { commands: textsIn(node["commands"]) } : {}),
    ...(Array.isArray(node["caps"]) ? { caps: textsIn(node["caps"]) } : {}),
    createdAt,
    approvedAt: numberIn(node["approvedAtMs"]) ?? createdAt,
  };
}

function without(values: Values, names: readonly string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
}

function picked(values: Values, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = textIn(values[name]);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}
