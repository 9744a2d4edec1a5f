/** When a conversation expires. Pure. Spec: http/sessions-routing.md §5. */
import { calendarDay, hourOfDay } from "@svc/kit/time";
import type { ResetSetting, SessionConfig } from "../config.ts";
import { chatTypeOf, isThread } from "../keys-routing/keys.ts";

export type ResetType = "direct" | "group" | "thread";

/** The reset policy of one session. */
export interface ResetPolicy {
  readonly mode: "daily" | "idle";
  /** Hour of local time. */
  readonly atHour: number;
  /** Minutes; absent: no limit. */
  readonly idleMinutes: number | undefined;
}

/** Facts about the message, from the caller. */
export interface ResetContext {
  readonly channel?: string | undefined;
  readonly isThread?: boolean | undefined;
  readonly isGroup?: boolean | undefined;
}

type ResetConfig = Pick<SessionConfig, "reset" | "resetByType" | "resetByChannel" | "idleMinutes">;

const DEFAULT_AT_HOUR = 4;
/** Default minutes of mode `idle`. */
const DEFAULT_IDLE_MINUTES = 60;

export function resetTypeOf(key: string, context: ResetContext = {}): ResetType {
  if (context.isThread || isThread(key)) return "thread";
  const chatType = chatTypeOf(key);
  return context.isGroup || chatType === "group" || chatType === "channel" ? "group" : "direct";
}

export function resetPolicyOf(config: ResetConfig, type: ResetType, channel: string | undefined): ResetPolicy {
  const ofChannel = channelSetting(config.resetByChannel, channel);
  if (ofChannel) return completed(ofChannel, "daily");
  const { reset, resetByType, idleMinutes: legacy } = config;
  const ofType = resetByType?.[type] ?? (type === "direct" ? resetByType?.dm : undefined);
  const setting = { ...(legacy !== undefined && { idleMinutes: legacy }), ...reset, ...ofType };
  // The old key alone means mode idle, not daily.
  return completed(setting, legacy !== undefined && !reset && !resetByType ? "idle" : "daily");
}

function channelSetting(byChannel: ResetConfig["resetByChannel"], channel = ""): ResetSetting | undefined {
  const wanted = channel.trim().toLowerCase();
  return Object.entries(byChannel ?? {}).find(([name]) => name.trim().toLowerCase() === wanted)?.[1];
}

function completed(setting: ResetSetting, defaultMode: ResetPolicy["mode"]): ResetPolicy {
  const { mode = defaultMode, atHour = DEFAULT_AT_HOUR } = setting;
  return { mode, atHour, idleMinutes: setting.idleMinutes ?? (mode === "idle" ? DEFAULT_IDLE_MINUTES : undefined) };
}

/** @param updatedAt epoch ms of its last use @param timeZone IANA name of the zone whose days count */
export function isStale(
  { mode, atHour, idleMinutes }: ResetPolicy,
  updatedAt: number,
  now: number,
  timeZone: string,
): boolean {
  if (idleMinutes !== undefined && now > updatedAt + idleMinutes * 60_000) return true;
  return mode === "daily" && updatedAt < lastBoundary(atHour, now, timeZone);
}

/** The last time the wall clock of the zone showed `atHour`:00; `hourOfDay` decides on days when the clock changes. */
export function lastBoundary(atHour: number, now: number, timeZone: string): number {
  const today = calendarDay(now, timeZone);
  const boundary = hourOfDay(today, atHour, timeZone);
  return boundary <= now ? boundary : hourOfDay({ ...today, day: today.day - 1 }, atHour, timeZone);
}
