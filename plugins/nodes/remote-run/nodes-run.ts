/**
 * `svc nodes run`: a program on a node, from the question whether it may run to its exit code.
 *
 * All on one connection: an approval belongs to whoever asked for it. Spec: protocol/clients.md §1 `nodes run`.
 */
import { once } from "node:events";
import { GatewayError } from "@svc/sdk";
import { execApproval } from "@svc/sdk/approvals";
import { askingWith, type CommandContext, isTerminal, visibleLines } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { nodes } from "@svc/sdk/nodes";
import { findConnected } from "../cli-input.ts";
import { readRunRequest } from "./request.ts";
import { prepare, type ProgramEnded, run } from "./run.ts";
import { permission } from "./permission.ts";

const SCOPES = ["operator.admin", "operator.read", "operator.write", "operator.approvals"];
const ask = askingWith({ plugin: "nodes", step: "svc nodes list" });

/** @returns the program's exit code; 1 when it has none. @throws GatewayError it did not run, and why */
export async function nodesRun(context: CommandContext, interrupted = interruption): Promise<number> {
  const request = readRunRequest(context);
  const work = async (client: GatewayClient) => {
    const { nodeId } = findConnected((await client.call(nodes.list, {})).nodes, request.node);
    const prepared = await prepare(client, nodeId, request);
    let askedAs: string | undefined;
    const backing = await unlessInterrupted(
      permission(client, request, prepared, (id) => {
        askedAs = id;
        context.note(`waiting for an approval: svc approvals allow ${id}`);
      }),
      () => askedAs !== undefined && client.call(execApproval.resolve, { id: askedAs, decision: "deny" }),
      interrupted,
    );
    return run(client, request, prepared, backing);
  };
  return show(context, await ask(context, SCOPES, work));
}

/**
 * Choice: Ctrl-C takes the own question back by denying it, so that nobody decides what runs nowhere; an asker that may not decide leaves it.
 * @throws GatewayError `UNAVAILABLE`: interrupted
 */
export async function unlessInterrupted<T>(
  work: Promise<T>,
  takeBack: () => unknown,
  wait: typeof interruption,
): Promise<T> {
  const { signalled, stop } = wait();
  const left = signalled.then(async () => {
    work.catch(() => undefined); // it ends as denied
    await Promise.resolve(takeBack()).catch(() => undefined);
    throw new GatewayError("UNAVAILABLE", "interrupted; the question was taken back\nNext: svc nodes list");
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
 * Output as it is where a program reads it; on a terminal, nothing in it is obeyed.
 * Choice: what `--json` means is read from the options, since the program may have an argument of that name.
 * @returns the exit code
 */
function show({ options, print, output, note }: CommandContext, ended: ProgramEnded): number {
  const { exitCode, stdout = "", stderr = "", error, timedOut } = ended;
  if (options["json"] === true) print(ended);
  else {
    output.write(isTerminal(output) ? visibleLines(stdout) : stdout);
    if (stderr !== "") note(visibleLines(stderr).replace(/\n$/, ""));
    if (error) note(visibleLines(error));
    if (timedOut === true) note("Next: allow it more time with --timeout <ms>");
  }
  return typeof exitCode === "number" && timedOut !== true ? exitCode : 1;
}
