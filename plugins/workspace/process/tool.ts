/** The tool `process`: looks after commands that `exec` started in the background. */
import { BoundedText } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { type Clock, floorOf, invalidRequest, pause, Strict, Type } from "@svc/sdk";
import { defineTool, type ToolEffect, type ToolResult } from "@svc/sdk/tools";
import { MAX_LINES, pageOf } from "../files/page.ts";
import { type Background, type BackgroundCommands, MAX_FRESH_CHARS, type Owner } from "./background.ts";
import { endText, withNote } from "./report.ts";

const ACTIONS = ["list", "poll", "log", "write", "kill", "clear"] as const;
/** What is written to a program may be code to it. */
const EFFECTS: Readonly<Record<(typeof ACTIONS)[number], readonly ToolEffect[]>> = {
  list: ["reads"],
  poll: ["reads"],
  log: ["reads"],
  write: ["runs-code"],
  kill: ["writes-workspace"],
  clear: ["writes-workspace"],
};

/** Choice: seconds a poll may wait; UTF-16 units written at once, and bytes that may wait to be read by the command. */
const MAX_WAIT_SECONDS = 60;
const MAX_WRITE_CHARS = 65_536;
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Choice: lines of a log when nothing is said: the last ones. */
const LOG_LINES = 200;
const MAX_SHOWN_COMMAND = 200;

export interface ProcessSources {
  readonly background: BackgroundCommands;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

export function processTool({ background, clock }: ProcessSources) {
  return defineTool({
    description:
      "Looks after commands that exec started in the background, in this session. list: all; poll: what one has said since the " +
      "last poll, and whether it runs; log: its output; write: text for its input; kill: end it; clear: forget one that has ended.",
    params: Strict({
      action: Type.Enum([...ACTIONS], { type: "string" }),
      sessionId: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: "Which one; for all but list" }),
      ),
      timeout: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: MAX_WAIT_SECONDS,
          description: "poll: seconds to wait for news; default 0",
        }),
      ),
      offset: Type.Optional(
        Type.Integer({ minimum: 1, description: `log: first line; default: the last ${LOG_LINES}` }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LINES, description: "log: lines" })),
      data: Type.Optional(
        Type.String({ maxLength: MAX_WRITE_CHARS, description: "write: the text, with its line end" }),
      ),
      eof: Type.Optional(Type.Boolean({ description: "write: nothing more follows; default false" })),
    }),
    scope: "operator.write",
    effects: ({ action }) => EFFECTS[action],
    brings: "none",
    label: "Background commands",
    runOnly: true,
    async run({ action, sessionId, timeout = 0, offset, limit, data = "", eof = false }, { call, signal, outside }) {
      const owner: Owner = { agentId: call.agentId, sessionKey: call.sessionKey };
      if (action === "list") return listed(background.list(owner), clock.now());
      if (sessionId === undefined) return invalidRequest(`${action} needs a sessionId; process list shows them`);
      const command = background.find(owner, sessionId);
      switch (action) {
        case "poll":
          await news(command, timeout * 1_000, clock, signal);
          return polled(command, clock.now());
        case "log":
          return logged(command, clock.now(), offset, limit);
        case "write":
          command.origin = floorOf([command.origin, outside?.origin]);
          return written(command, data, eof);
        case "kill":
          command.program.end("process kill");
          await command.program.ended;
          return polled(command, clock.now());
        case "clear":
          if (!command.outcome) invalidRequest(`${sessionId} still runs; end it with kill first`);
          background.forget(command);
          return { content: [{ type: "text", text: `${sessionId} is forgotten` }], details: { sessionId } };
      }
    },
  });
}

function statusOf({ outcome, startedAt, endedAt }: Background, now: number): string {
  const ms = (endedAt ?? now) - startedAt;
  return outcome ? endText(outcome, ms) : `runs since ${(ms / 1_000).toFixed(1)} s`;
}

function detailsOf(command: Background): Record<string, unknown> {
  const { id, outcome, startedAt, endedAt, program } = command;
  const end = outcome && { exitCode: outcome.exitCode, signal: outcome.signal, timedOut: outcome.timedOut, endedAt };
  return { sessionId: id, pid: program.pid, status: outcome ? "ended" : "running", startedAt, ...end };
}

function whoseOf({ origin }: Background): Pick<ToolResult, "origin"> {
  return origin ? { origin } : {};
}

function listed(all: readonly Background[], now: number): ToolResult {
  const lines = all.map((one) => `${one.id}: ${statusOf(one, now)}: ${one.text.slice(0, MAX_SHOWN_COMMAND)}`);
  const text = lines.join("\n") || "no background commands in this session";
  return { content: [{ type: "text", text }], details: { sessions: all.map(detailsOf) } };
}

/** Resolves when it says something, ends, or the time is over; at once when there is news already. */
async function news(
  { fresh, listeners, outcome }: Background,
  ms: number,
  clock: Pick<Clock, "setTimeout">,
  signal: AbortSignal,
): Promise<void> {
  if (ms === 0 || outcome || fresh.peek().text !== "") return;
  const told = new AnySignal(signal);
  const tell = () => told.abort();
  listeners.add(tell);
  try {
    await pause(ms, clock, told.signal);
  } finally {
    listeners.delete(tell);
    told.release();
  }
}

function polled(command: Background, now: number): ToolResult {
  const { text, truncated } = command.fresh.peek();
  command.fresh = new BoundedText(MAX_FRESH_CHARS);
  const note = statusOf(command, now);
  return {
    content: [{ type: "text", text: withNote(text, note) }],
    details: { ...detailsOf(command), output: text, truncated },
    ...whoseOf(command),
  };
}

function logged(command: Background, now: number, offset?: number, limit?: number): ToolResult {
  const { text } = command.log.peek();
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const first = offset ?? Math.max(1, lines - (limit ?? LOG_LINES) + 1);
  const { text: shown, ...page } = pageOf(text, { offset: first, limit: limit ?? LOG_LINES });
  const note = statusOf(command, now);
  return {
    content: [{ type: "text", text: text === "" ? `[${note}; no output]` : withNote(shown, note) }],
    details: { ...detailsOf(command), ...page },
    ...whoseOf(command),
  };
}

async function written(
  { id, program: { stdin }, outcome }: Background,
  data: string,
  eof: boolean,
): Promise<ToolResult> {
  if (outcome || !stdin?.writable) return invalidRequest(`${id} reads no input any more`);
  if (stdin.writableLength > MAX_UNREAD_BYTES)
    invalidRequest(`${id} has not read what was written before; wait until it does`);
  if (data !== "") stdin.write(data);
  if (eof) stdin.end();
  const text = `wrote ${Buffer.byteLength(data)} bytes to ${id}${eof ? ", and closed its input" : ""}`;
  return { content: [{ type: "text", text }], details: { sessionId: id, bytes: Buffer.byteLength(data), closed: eof } };
}
