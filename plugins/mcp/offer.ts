/** Converts the tool list of a server into the tools offered to agents. Pure. */
import { isGatewayError, type TSchema } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";
import { inputSchema } from "./input-schema.ts";
import { isWanted, MAX_OWN_NAME, toolName } from "./names.ts";

/** Choice: maximum tools offered per server; model servers accept about as many in total. */
export const MAX_OFFERED = 128;
const MAX_DESCRIPTION = 2_000;

export interface OfferedTool {
  /** Name that models see. */
  readonly name: string;
  /** The server's own name. */
  readonly own: string;
  readonly label?: string;
  readonly description: string;
  readonly params: TSchema;
  /** The server declares that the tool changes nothing. */
  readonly isReadOnly: boolean;
}

export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** Tools not offered, with the reason in one line. */
  readonly leftOut: readonly { readonly tool: string; readonly reason: string }[];
}

export interface Wanted {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** @param listed `tools` of the `tools/list` result, unchecked */
export function offerOf(server: string, listed: readonly unknown[], { include, exclude }: Wanted): Offer {
  const tools = new Map<string, OfferedTool>();
  const leftOut: { tool: string; reason: string }[] = [];
  for (const given of listed) {
    const own = ownName(given);
    if (own !== undefined && !isWanted(own, include, exclude)) continue;
    const outcome = own === undefined ? "it has no usable name" : read(server, own, given as object);
    const reason = typeof outcome === "string" ? outcome : whyNot(outcome, tools);
    if (reason !== undefined) leftOut.push({ tool: externalLine(own ?? "?", 80), reason });
    else if (typeof outcome !== "string") tools.set(outcome.name, outcome);
  }
  return { tools: [...tools.values()], leftOut };
}

function ownName(given: unknown): string | undefined {
  const { name } = (given ?? {}) as { name?: unknown };
  return typeof name === "string" && name !== "" && name.length <= MAX_OWN_NAME ? name : undefined;
}

function whyNot({ name }: OfferedTool, tools: ReadonlyMap<string, OfferedTool>): string | undefined {
  const twin = tools.get(name);
  if (twin) return `agents would see it as ${name}, which is already the name of ${externalLine(twin.own, 80)}`;
  return tools.size < MAX_OFFERED
    ? undefined
    : `the server has more than ${MAX_OFFERED} tools; select some with include or exclude`;
}

/** @returns the tool, or the reason why it cannot be offered */
function read(server: string, own: string, given: object): OfferedTool | string {
  const {
    description,
    inputSchema: schema,
    title,
    execution,
    annotations,
  } = given as Readonly<Record<string, unknown>>;
  const { taskSupport } = (execution ?? {}) as { taskSupport?: unknown };
  if (taskSupport === "required") return "it runs only as a task, which is not supported";
  const text = typeof description === "string" ? externalLine(description, MAX_DESCRIPTION) : "";
  const label = typeof title === "string" ? externalLine(title, 100) : "";
  try {
    return {
      name: toolName(server, own),
      own,
      ...(label === "" ? {} : { label }),
      description: text === "" ? `Tool ${externalLine(own, 80)} of the MCP server ${server}` : text,
      params: inputSchema(schema),
      isReadOnly: (annotations as { readOnlyHint?: unknown } | null | undefined)?.readOnlyHint === true,
    };
  } catch (error) {
    if (isGatewayError(error)) return error.message;
    throw error;
  }
}
