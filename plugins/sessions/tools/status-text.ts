/** The text of `session_status`, for a model. Pure. */
import type { SessionEntry } from "@svc/sdk/sessions";
import { type ModelDefaults, modelOf } from "../store/entries.ts";

export interface Status {
  readonly key: string;
  readonly entry: SessionEntry | undefined;
  readonly messages: number;
  readonly defaults: ModelDefaults;
  /** epoch ms */
  readonly now: number;
}

/** One fact per line; unknown facts are omitted. */
export function statusText({ key, entry, messages, defaults, now }: Status): string {
  const { modelProvider, model } = modelOf(entry ?? {}, defaults);
  const window = entry?.contextTokens ?? defaults.contextTokens;
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    ["Session", key],
    ["Session id", entry?.sessionId ?? "none yet"],
    ["Model", model && [modelProvider, model].filter(Boolean).join("/")],
    ["Messages", String(messages)],
    ["Tokens", tokensText(entry, window)],
    ["Time", new Date(now).toISOString()],
  ];
  return facts.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join("\n");
}

function tokensText(entry: SessionEntry | undefined, window: number | null): string {
  const total = entry?.totalTokensFresh === false ? undefined : entry?.totalTokens;
  const parts = [
    total === undefined ? undefined : `${total} in context`,
    window === null ? undefined : `window ${window}`,
    `${entry?.inputTokens ?? "unknown"} in`,
    `${entry?.outputTokens ?? "unknown"} out`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}
