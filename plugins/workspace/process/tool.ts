/** The tool `process`: manages commands that `exec` started in the background. */
import { BoundedText } from "@svc/kit/exec";
import { AnySignal } from "@svc/kit/time";
import { type Clock, floorOf, invalidRequest, pause, Strict, Type } from "@svc/sdk";
import { defineTool, type ToolEffect, type ToolResult } from "@svc/sdk/tools";
import { MAX_LINES, pageOf } from "../files/page.ts";
import { type Background, type BackgroundCommands, MAX_FRESH_CHARS, type Owner } from "./background.ts";
import { endText, withNote } from "./report.ts";

const ACTIONS = ["list", "poll", "log", "write", "kill", "clear"] as const;
/** `write` counts as running code, since a program may execute its input. */
const EFFECTS: Readonly<Record<(typeof ACTIONS)[number], readonly ToolEffect[]>> = {
  list: ["reads"],
  poll: ["reads"],
  log: ["reads"],
  write: ["runs-code"],
  kill: ["writes-workspace"],
  clear: ["writes-workspace"],
};

/** Choice: maximum seconds of a poll, UTF-16 units of a write, and bytes that the command has not read yet. */
const MAX_WAIT_SECONDS = 60;
const MAX_WRITE_CHARS = 65_536;
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Choice: default number of log lines; the last ones. */
const LOG_LINES = 200;
const MAX_SHOWN_COMMAND = 200;

export interface ProcessSources {
  readonly background: BackgroundCommands;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

export function processTool({ background, clock }: ProcessSources) {
  return defineTool({
    description:
      "Manages commands that exec started in the background, in this session. list: all commands; poll: output since the last " +
      "poll, and whether the command runs; log: its output; write: send text to its input; kill: end it; clear: forget an ended one.",
    params: Strict({
      action: Type.Enum([...ACTIONS], { type: "string" }),
      sessionId: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: "The command; required except for list" }),
      ),
      timeout: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: MAX_WAIT_SECONDS,
          description: "poll: seconds to wait for new output or the end; default 0",
        }),
      ),
      offset: Type.Optional(
        Type.Integer({ minimum: 1, description: `log: first line; default: the last ${LOG_LINES} lines` }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LINES, description: "log: number of lines" })),
      data: Type.Optional(
        Type.String({ maxLength: MAX_WRITE_CHARS, description: "write: the text, including its line end" }),
      ),
      eof: Type.Optional(Type.Boolean({ description: "write: close the input afterwards; default false" })),
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
          if (!command.outcome) invalidRequest(`${sessionId} is still running; end it with kill first`);
          background.forget(command);
          return { content: [{ type: "text", text: `${sessionId} is forgotten` }], details: { sessionId } };
      }
    },
  });
}

function statusOf({ outcome, startedAt, endedAt }: Background, now: number): string {
  const ms = (endedAt ?? now) - startedAt;
  return outcome ? endText(outcome, ms) : `running for ${(ms / 1_000).toFixed(1)} s`;
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

/** Resolves on new output, at the end of the command, or after the timeout; at once if there is unread output. */
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
  if (outcome || !stdin?.writable) return invalidRequest(`${id} no longer reads input`);
  if (stdin.writableLength > MAX_UNREAD_BYTES)
    invalidRequest(`${id} has not read the previous input; wait until it does`);
  if (data !== "") stdin.write(data);
  if (eof) stdin.end();
  const text = `wrote ${Buffer.byteLength(data)} bytes to ${id}${eof ? ", and closed its input" : ""}`;
  return { content: [{ type: "text", text }], details: { sessionId: id, bytes: Buffer.byteLength(data), closed: eof } };
}
