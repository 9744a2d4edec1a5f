/** Checks for a newer version after the start and periodically, publishes changes, and installs the version if configured. */
import { type Clock, type Logger, messageOf } from "@svc/sdk";
import type { Answer, Available } from "./newest.ts";
import type { Seen, SeenFile } from "./seen.ts";
import type { UpdateSettings } from "./settings.ts";

/** Milliseconds. Choice: the check must not compete with the start. */
export const FIRST_LOOK_MS = 120_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Choice: milliseconds for which callers get the last answer without a new check. */
const FRESH_MS = 60_000;

export interface Watch {
  /** The last answer; `null`: no newer version is known. */
  readonly available: Available;
  /** epoch ms of the last successful check. */
  readonly checkedAt: number | null;
  /** Checks for a newer version, unless the last check is less than a minute old. Never rejects. */
  look(): Promise<Answer>;
  /** Plans the first check. @returns a function that stops checking; safe to call twice */
  begin(): () => void;
}

export interface WatchOptions {
  readonly settings: UpdateSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** 0 to 1, fixed per gateway. */
  readonly jitter: number;
  readonly seen: SeenFile;
  ask(): Promise<Answer>;
  changed(available: Available): void;
  /** Installs the newer version. Never rejects. */
  install(): Promise<void>;
}

export function createWatch({ settings, clock, log, jitter, seen, ask, changed, install }: WatchOptions): Watch {
  let available: Available = null;
  let checkedAt: number | null = null;
  let last: { readonly answer: Promise<Answer>; readonly at: number } | undefined;
  let news: Seen | undefined;
  let cancel = () => {};
  let isOver = false;

  async function fresh(): Promise<Answer> {
    const answer = await ask();
    if (answer.reason !== undefined) {
      log.debug({ reason: answer.reason }, "the newest version is unknown");
      return answer;
    }
    checkedAt = clock.now();
    const { latestVersion } = answer.available ?? {};
    if (latestVersion !== available?.latestVersion) {
      available = answer.available;
      changed(available);
    }
    if (latestVersion === undefined) news = undefined;
    else if (news?.version !== latestVersion) news = { version: latestVersion, since: checkedAt };
    return answer;
  }

  function look(): Promise<Answer> {
    const now = clock.elapsed();
    if (last && now - last.at < FRESH_MS) return last.answer;
    const answer = fresh().catch((error: unknown): Answer => {
      log.warn({ err: error }, "the check for a newer version failed");
      last = undefined;
      return { mode: "unknown", available: null, reason: messageOf(error) };
    });
    last = { answer, at: now };
    return answer;
  }

  /** The delay counts from the time when the version was first seen. Only scheduled checks write that time to disk. */
  async function remember(): Promise<void> {
    if (!news) return;
    const known = await seen.read();
    const isKnown = known?.version === news.version && known.since <= clock.now();
    if (isKnown && known.since <= news.since) news = known;
    else await seen.write(news);
  }

  function plan(ms: number): void {
    cancel = clock.setTimeout(() => void step(), ms);
  }

  async function step(): Promise<void> {
    let wait: number | undefined;
    try {
      await look();
      await remember();
      wait = news && dueIn(settings, clock.now() - news.since, jitter);
      if (wait !== undefined && wait <= 0 && !isOver) await install();
    } catch (error) {
      log.warn({ err: error }, "the check for a newer version failed");
    }
    if (!isOver) plan(Math.min(intervalOf(settings), wait !== undefined && wait > 0 ? wait : Infinity));
  }

  return {
    get available() {
      return available;
    },
    get checkedAt() {
      return checkedAt;
    },
    look,
    begin() {
      if (settings.checkOnStart) plan(FIRST_LOOK_MS);
      return () => {
        isOver = true;
        cancel();
      };
    },
  };
}

/** Milliseconds between two checks. */
export function intervalOf({ channel, auto }: UpdateSettings): number {
  const isEager = auto?.enabled === true && channel !== "stable";
  return isEager ? (auto.betaCheckIntervalHours ?? 6) * HOUR : DAY;
}

/**
 * Milliseconds until a version known for `knownFor` is installed automatically; `undefined`: never.
 * Choice: a stable version waits, so that a bad one can be withdrawn before it is widely installed.
 */
export function dueIn({ channel, auto }: UpdateSettings, knownFor: number, jitter: number): number | undefined {
  if (auto?.enabled !== true) return undefined;
  if (channel !== "stable") return 0;
  const { stableDelayHours = 24, stableJitterHours = 12 } = auto;
  return (stableDelayHours + stableJitterHours * jitter) * HOUR - knownFor;
}
