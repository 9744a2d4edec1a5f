/**
 * `svc nodes run`: runs a program on a node, including the approval.
 *
 * Uses a single connection, since an approval belongs to the client that requested it. Spec: protocol/clients.md §1 `nodes run`.
 */
import { once } from "node:events";
import { GatewayError } from "@svc/sdk";
import { execApproval } from "@svc/sdk/approvals";
import { askingWith, type CommandContext, isTerminal, visibleLines } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { nodes } from "@svc/sdk/nodes";
import { findConnected } from "../cli-input.ts";
import { readRunRequest } from "./request.ts";
import { prepare, type ProgramEnded, runAllowed } from "./run.ts";
import { permission } from "./permission.ts";

const SCOPES = ["operator.admin", "operator.read", "operator.write", "operator.approvals"];
const ask = askingWith({ plugin: "nodes", step: "svc nodes list" });

/** @returns the program's exit code, or 1 if it has none. @throws GatewayError the reason why it did not run */
export async function nodesRun(context: CommandContext, interrupted = interruption): Promise<number> {
  const request = readRunRequest(context);
  const work = async (client: GatewayClient) => {
    const { nodeId } = findConnected((await client.call(nodes.list, {})).nodes, request.node);
    const prepared = await prepare(client, nodeId, request);
    let askedAs: string | undefined;
    const onAsked = (id: string) => {
      askedAs = id;
      context.note(`waiting for an approval: svc approvals allow ${id}`);
    };
    const takeBack = () =>
      askedAs !== undefined && client.call(execApproval.resolve, { id: askedAs, decision: "deny" });
    return runAllowed(client, request, prepared, async (sessionAsks) => {
      if (sessionAsks !== undefined && !request.wait) throw sessionAsks; // names the setting and how to change it
      const asking = permission(client, request, prepared, onAsked, sessionAsks !== undefined);
      return unlessInterrupted(asking, takeBack, interrupted);
    });
  };
  return show(context, await ask(context, SCOPES, work));
}

/**
 * Choice: Ctrl-C cancels the pending question by denying it, so that nobody is asked in vain. If this client may not decide,
 * the question stays pending.
 * @throws GatewayError `UNAVAILABLE`: interrupted
 */
export async function unlessInterrupted<T>(
  work: Promise<T>,
  takeBack: () => unknown,
  wait: typeof interruption,
): Promise<T> {
  const { signalled, stop } = wait();
  const left = signalled.then(async () => {
    work.catch(() => undefined); // it is rejected as denied
    await Promise.resolve(takeBack()).catch(() => undefined);
    throw new GatewayError("UNAVAILABLE", "interrupted; the question was cancelled\nNext: svc nodes list");
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    stop();
  }
}

function interruption(): { readonly signalled: Promise<unknown>; stop(): void } {
  const stop = new AbortController();
  const wait = (signal: "SIGINT" | "SIGTERM") => once(process, signal, { signal: stop.signal });
  const signalled = Promise.race([wait("SIGINT"), wait("SIGTERM")]);
  signalled.catch(() => undefined); // stopped
  return { signalled, stop: () => stop.abort() };
}

/**
 * Prints the output unchanged for programs, and with control characters escaped on a terminal.
 * Choice: reads `--json` from the options, since the program may have an argument of that name.
 * @returns the exit code
 */
function show({ options, print, output, note }: CommandContext, ended: ProgramEnded): number {
  const { exitCode, stdout = "", stderr = "", error, timedOut } = ended;
  if (options["json"] === true) print(ended);
  else {
    output.write(isTerminal(output) ? visibleLines(stdout) : stdout);
    if (stderr !== "") note(visibleLines(stderr).replace(/\n$/, ""));
    if (error) note(visibleLines(error));
    if (timedOut === true) note("Next: raise the timeout with --timeout <ms>");
  }
  return typeof exitCode === "number" && timedOut !== true ? exitCode : 1;
}
