/** Executes each invocation of a gateway once, and returns its result or the reason of a refusal. Spec: protocol/events.md `node.invoke.request`. */
import type { PayloadOf } from "@svc/sdk";
import type { nodeInvokeRequest } from "@svc/sdk/nodes";
import type { NodeCommand } from "./node-commands.ts";
import { NodeRefusal, toNodeError } from "./refusal.ts";

/** Params of `node.invoke.result`, without the node's id. */
export type InvocationAnswer =
  | { readonly id: string; readonly ok: true; readonly payloadJSON: string }
  | { readonly id: string; readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** Choice: maximum concurrent commands. */
export const MAX_AT_ONCE = 16;

export type Invocation = Pick<PayloadOf<typeof nodeInvokeRequest>, "id" | "command" | "paramsJSON">;

/** @param note receives internal errors. @returns a function that executes one invocation and resolves with its answer; never rejects */
export function createAnswering(
  commands: ReadonlyMap<string, NodeCommand>,
  note: (line: string) => void,
  maxAtOnce: number = MAX_AT_ONCE,
): (invocation: Invocation) => Promise<InvocationAnswer> {
  let inFlight = 0;

  async function carryOut({ command, paramsJSON }: Invocation): Promise<unknown> {
    const run = commands.get(command);
    if (!run) {
      const known = [...commands.keys()].join(", ");
      throw new NodeRefusal(
        "INVALID_REQUEST",
        `this node has no command ${JSON.stringify(command).slice(0, 100)}; available: ${known}`,
      );
    }
    if (inFlight > maxAtOnce) {
      throw new NodeRefusal("BUSY", `this node is already running ${maxAtOnce} commands; try again when one has ended`);
    }
    return run(parse(command, paramsJSON));
  }

  return async (invocation) => {
    const { id } = invocation;
    inFlight++;
    try {
      return { id, ok: true, payloadJSON: JSON.stringify((await carryOut(invocation)) ?? null) };
    } catch (error) {
      const known = toNodeError(error);
      if (known.code === "INTERNAL") note(error instanceof Error ? (error.stack ?? error.message) : String(error));
      return { id, ok: false, error: known };
    } finally {
      inFlight--;
    }
  };
}

/** Choice: absent params count as `{}`. */
function parse(command: string, paramsJSON: string | null): unknown {
  if (paramsJSON === null || paramsJSON.trim() === "") return {};
  try {
    return (JSON.parse(paramsJSON) as unknown) ?? {};
  } catch {
    throw new NodeRefusal("INVALID_REQUEST", `invalid ${command} params: at root: paramsJSON is not JSON`);
  }
}
