/** Keeps one server connected in the background, and reconnects after each failure until stopped. */
import { type Deadline, withDeadline } from "@svc/kit/time";
import { type Clock, isGatewayError, type Logger, messageOf, pause, unavailable, untilAborted } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";
import type { ToolResult } from "@svc/sdk/tools";
import type { ServerEntry } from "./config.ts";
import { type Offer, offerOf, type OfferedTool } from "./offer.ts";
import { pauseMs } from "./pauses.ts";
import { resultOf } from "./result.ts";
import type { OpenSession, Session } from "./session.ts";
import { type Target, withoutHidden } from "./target.ts";

export interface Supervised {
  /** The tools of the server; empty while the server is disconnected. */
  tools(): readonly OfferedTool[];
  /** @param tool the server's own name. @throws GatewayError `UNAVAILABLE`; the signal's reason */
  call(tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult>;
  /** Resolves when everything is released. Safe to call twice. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  readonly name: string;
  readonly entry: ServerEntry;
  /** Resolves the target and its secrets; called for each connection. */
  readonly target: () => Promise<Target>;
  readonly open: OpenSession;
  readonly clock: Clock;
  readonly log: Logger;
  /** `Math.random`. */
  readonly random: () => number;
  /** Called when the list of tools has changed. */
  readonly changed: () => void;
}

/** Choice: milliseconds after which a connection counts as stable and resets the reconnect delay. */
export const STEADY_MS = 60_000;
/** Choice: minimum milliseconds between two lists of tools, however often the server reports a change. */
export const RELIST_MS = 1_000;
/** Choice: milliseconds after which an unchanged reason is logged again. */
const TELL_AGAIN_MS = 3_600_000;
const MAX_REASON = 300;

/** An established connection. */
interface Link {
  readonly session: Session;
  readonly hidden: readonly string[];
  tools: readonly OfferedTool[];
  /** Whether the tools have changed since they were listed. */
  isStale: boolean;
  isListing: boolean;
  isChecking: boolean;
  /** Abort this controller to end the connection. */
  readonly ending: AbortController;
}

export function supervise(options: SupervisorOptions): Supervised {
  const { name, entry, clock, log } = options;
  const [startMs, toolMs] = [entry.startTimeoutSeconds * 1_000, entry.toolTimeoutSeconds * 1_000];
  const stopping = new AbortController();
  const tell = teller(options);
  let link: Link | undefined;
  const limits = (ms: number, failure: string, signal: AbortSignal): Deadline => ({
    ms,
    clock,
    signals: [signal],
    late: () => `${failure} within ${ms / 1_000} seconds`,
  });
  const listing = (signal: AbortSignal) => limits(startMs, "it did not list its tools", signal);
  const running = run();

  async function run(): Promise<void> {
    for (let failures = 1; !stopping.signal.aborted; failures += 1) {
      const since = clock.elapsed();
      const reason = await connectOnce();
      if (stopping.signal.aborted) return;
      if (clock.elapsed() - since >= STEADY_MS) failures = 1;
      const retryInMs = pauseMs(failures, options.random());
      tell.away(reason, retryInMs);
      await pause(retryInMs, clock, stopping.signal);
    }
  }

  /** Connects and waits until the connection ends. @returns the reason */
  async function connectOnce(): Promise<string> {
    const ending = new AbortController();
    const stop = () => ending.abort();
    stopping.signal.addEventListener("abort", stop, { once: true });
    let hidden: readonly string[] = [];
    let session: Session | undefined;
    try {
      const target = await untilAborted(options.target(), ending.signal); // a vault may be slow
      hidden = target.hidden;
      let isStale = false;
      const events = {
        toolsChanged() {
          isStale = true;
          if (link) relist(link);
        },
        doubt: (reason: string) => link && check(link, reason),
      };
      const inTime = limits(startMs, "it was not connected", ending.signal);
      const opened = await withDeadline(inTime, (signal) => options.open(target, events, signal));
      session = opened;
      isStale = false;
      const listed = await withDeadline(listing(ending.signal), (signal) => opened.list(signal));
      link = { session, hidden, tools: [], isStale, isListing: false, isChecking: false, ending };
      adopt(link, listed);
      tell.connected(link.tools.length);
      if (isStale) relist(link);
      return readable(await untilAborted(session.ended, ending.signal), hidden);
    } catch (error) {
      return readable(messageOf(error), hidden);
    } finally {
      stopping.signal.removeEventListener("abort", stop);
      const wasThere = link !== undefined;
      link = undefined;
      ending.abort();
      if (wasThere) options.changed();
      await session?.close().catch((error: unknown) => log.debug({ err: error, server: name }, "closing failed"));
    }
  }

  function adopt(mine: Link, listed: readonly unknown[]): void {
    const offer = offerOf(name, listed, entry);
    mine.tools = offer.tools;
    tell.leftOut(offer);
    options.changed();
  }

  /** Lists the tools again: one list at a time, with a pause after each. */
  function relist(mine: Link): void {
    mine.isStale = true;
    if (mine.isListing) return;
    mine.isListing = true;
    void listAgain(mine).finally(() => (mine.isListing = false));
  }

  async function listAgain(mine: Link): Promise<void> {
    const { signal } = mine.ending;
    while (mine.isStale && !signal.aborted) {
      mine.isStale = false;
      try {
        adopt(mine, await withDeadline(listing(signal), (late) => mine.session.list(late)));
      } catch (error) {
        check(mine, messageOf(error));
      }
      await pause(RELIST_MS, clock, signal);
    }
  }

  /** After an error, keeps the connection only if the server answers a ping. */
  function check(mine: Link, reason: string): void {
    if (mine.isChecking || mine.ending.signal.aborted) return;
    mine.isChecking = true;
    void withDeadline(limits(startMs, "no answer", mine.ending.signal), (signal) => mine.session.ping(signal))
      .catch(() => mine.ending.abort(new Error(reason)))
      .finally(() => (mine.isChecking = false));
  }

  return {
    tools: () => link?.tools ?? [],

    async call(tool, args, signal) {
      const mine =
        link ??
        unavailable(`the MCP server "${name}" is disconnected and the gateway is reconnecting; try again later`);
      const failure = `the MCP server "${name}" did not answer`;
      try {
        const answer = await withDeadline(limits(toolMs, failure, signal), (late) =>
          mine.session.call(tool, args, late),
        );
        return resultOf(`MCP server ${name}, tool ${tool}`, answer);
      } catch (error) {
        signal.throwIfAborted();
        check(mine, messageOf(error));
        if (isGatewayError(error)) throw error;
        // The cause may be text of the server, so only the log contains the cause.
        log.warn(
          { server: name, tool, reason: readable(messageOf(error), mine.hidden) },
          "an MCP server failed during a call",
        );
        return unavailable(
          `the MCP server "${name}" failed before it answered; the log has the reason. Try again later`,
        );
      }
    },

    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Logs each omitted tool once, and an unchanged reason once an hour. */
function teller({ name, entry, clock, log }: SupervisorOptions) {
  const told = new Set<string>();
  let last = { reason: "", at: -Infinity };
  const keys = entry.url === undefined ? "command, args, env and cwd" : "url, headers and transport";
  return {
    connected(tools: number): void {
      last = { reason: "", at: -Infinity };
      log.info({ server: name, tools }, "an MCP server is connected");
    },
    away(reason: string, retryInMs: number): void {
      const isNews = reason !== last.reason || clock.elapsed() - last.at >= TELL_AGAIN_MS;
      if (isNews) last = { reason, at: clock.elapsed() };
      const next = `an MCP server is disconnected; reconnecting. If this repeats, check ${keys} of mcp.servers.${name}`;
      log[isNews ? "warn" : "debug"]({ server: name, reason, retryInMs }, next);
    },
    leftOut(offer: Offer): void {
      for (const { tool, reason } of offer.leftOut) {
        const key = `${tool} ${reason}`;
        if (told.has(key) || told.size > 1_000) continue;
        told.add(key);
        log.warn({ server: name, tool, reason }, "a tool of an MCP server is not offered");
      }
    },
  };
}

/** Formats a reason for the log: one line, without secrets. */
function readable(reason: string, hidden: readonly string[]): string {
  return externalLine(withoutHidden(reason, hidden), MAX_REASON);
}
