/** `system-event`: a client reports its state. Spec: protocol/methods-health.md §4. */
import { type Handler, invalidRequest, type Live, originOf, unavailable } from "@svc/sdk";
import type { health } from "@svc/sdk/health";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import type { Sessions } from "@svc/sdk/sessions";
import type { Presence, PresenceList } from "./presence.ts";

type Fields = Omit<Presence, "ts">;

/** Text fields that an entry takes from the parameters. */
const TEXTS = [
  "deviceId",
  "instanceId",
  "host",
  "ip",
  "mode",
  "version",
  "platform",
  "deviceFamily",
  "modelIdentifier",
  "reason",
] as const;
/** Characters of the text used as key when the report has no id, host or address. */
const NAME_CHARS = 64;
/** Choice: maximum stored characters of a field, and maximum stored entries of a list. */
const MAX_CHARS = 1_000;
const MAX_LISTED = 50;

interface SystemEventSources {
  readonly presence: Pick<PresenceList, "reported">;
  readonly sessions: Pick<Sessions, "defaults"> | undefined;
  readonly events: Live<Pick<SystemEvents, "add">>;
  /** Called after presence has changed. */
  readonly changed: () => void;
  /** epoch ms */
  readonly now: () => number;
  readonly newId: () => string;
}

/** @throws GatewayError `INVALID_REQUEST` for a blank text; `UNAVAILABLE` when the event could not be stored */
export function createSystemEvent(sources: SystemEventSources): Handler<typeof health.event> {
  const { presence, sessions, events, changed, now, newId } = sources;
  return async ({ params, principal }) => {
    const text = params.text.trim();
    if (text === "") invalidRequest("text is blank; describe the event");
    const queue = events.get();
    if (!queue || !sessions) unavailable("no running plugin stores events for sessions; enable the plugin heartbeat");
    const { key, fields } = readReport(text, params);
    const known = presence.reported(key, fields);
    changed();
    const news = isBeacon(text) ? whatChanged(known, fields) : text;
    if (news !== undefined) {
      const { mainSessionKey: sessionKey } = sessions.defaults();
      const id = `system-event:${newId()}`;
      await queue.add({
        id,
        sessionKey,
        text: news,
        wake: "next-heartbeat",
        reason: "system-event",
        at: now(),
        origin: originOf(principal),
      });
    }
    return { ok: true };
  };
}

function isBeacon(text: string): boolean {
  return text.startsWith("Node:");
}

/** The key of the entry, and its fields. Parameters of another type are ignored. */
export function readReport(text: string, params: object): { readonly key: string; readonly fields: Fields } {
  const given = new Map(Object.entries(params));
  const said = isBeacon(text) ? parseBeacon(text.slice(0, MAX_CHARS)) : {};
  const texts = TEXTS.flatMap((name): [string, string][] => {
    const value = filled(given.get(name)) ?? said[name];
    return value === undefined ? [] : [[name, value]];
  });
  const idle = given.get("lastInputSeconds");
  const seconds = typeof idle === "number" && idle >= 0 ? Math.trunc(idle) : said.lastInputSeconds;
  const lists = (["roles", "scopes"] as const).flatMap((name) => {
    const values: unknown = given.get(name);
    return Array.isArray(values) ? [[name, values.flatMap((value) => filled(value) ?? []).slice(0, MAX_LISTED)]] : [];
  });
  const fields: Fields = {
    ...Object.fromEntries(texts),
    ...(seconds === undefined ? {} : { lastInputSeconds: seconds }),
    ...Object.fromEntries(lists),
    text: text.slice(0, MAX_CHARS),
  };
  const { deviceId, instanceId, host, ip } = fields;
  return { key: deviceId ?? instanceId ?? host ?? ip ?? text.slice(0, NAME_CHARS), fields };
}

function filled(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim().slice(0, MAX_CHARS) : undefined;
}

/** `Node: <host> (<ip>) · app <v> · last input <n>s ago · mode <m> · reason <r>`; parts may be missing. */
export function parseBeacon(text: string): Fields {
  const [who = "", ...parts] = text.slice("Node:".length).split("·");
  const [, host = "", ip] = /^\s*([^()]*?)\s*(?:\(([^()]*)\))?\s*$/.exec(who) ?? [];
  const after = (word: string) =>
    filled(
      parts
        .find((part) => part.trim().startsWith(`${word} `))
        ?.trim()
        .slice(word.length),
    );
  const seconds = /^(\d{1,9})s ago$/.exec(after("last input") ?? "")?.[1];
  const said = {
    host: filled(host),
    ip: filled(ip),
    version: after("app"),
    mode: after("mode"),
    reason: after("reason"),
  };
  return {
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    ...(seconds === undefined ? {} : { lastInputSeconds: Number(seconds) }),
  };
}

/** A short line with the changes; `undefined`: no relevant change. */
export function whatChanged(known: Fields | undefined, fields: Fields): string | undefined {
  const isNew = (name: "host" | "ip" | "version" | "mode" | "reason") =>
    fields[name] !== undefined && fields[name] !== known?.[name];
  const isNewReason = isNew("reason") && !/^(?:periodic|heartbeat$)/i.test(fields.reason ?? "");
  const parts = [
    ...(isNew("version") ? [`app ${fields.version}`] : []),
    ...(isNew("mode") ? [`mode ${fields.mode}`] : []),
    ...(isNewReason ? [`reason ${fields.reason}`] : []),
  ];
  if (parts.length === 0 && !isNew("host") && !isNew("ip")) return undefined;
  const ip = fields.ip === undefined ? "" : ` (${fields.ip})`;
  return [`Node: ${fields.host ?? "unknown"}${ip}`, ...parts].join(" · ");
}
