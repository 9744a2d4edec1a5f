/** From the list a server gives to the tools agents are offered. Pure. */
import { isGatewayError, type TSchema } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";
import { inputSchema } from "./input-schema.ts";
import { isWanted, MAX_OWN_NAME, toolName } from "./names.ts";

/** Choice: tools of one server that are offered; model servers take about as many in all. */
export const MAX_OFFERED = 128;
const MAX_DESCRIPTION = 2_000;

export interface OfferedTool {
  /** As models see it. */
  readonly name: string;
  /** As the server calls it. */
  readonly own: string;
  readonly label?: string;
  readonly description: string;
  readonly params: TSchema;
  /** The server says that it changes nothing. */
  readonly isReadOnly: boolean;
}

export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** Each with the reason, in a line. */
  readonly leftOut: readonly { readonly tool: string; readonly reason: string }[];
}

export interface Wanted {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** @param listed `tools` of `tools/list`, as it came */
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
  if (twin) return `agents would see it as ${name}, and so they see ${externalLine(twin.own, 80)} already`;
  return tools.size < MAX_OFFERED ? undefined : `more than ${MAX_OFFERED} tools; choose some with include or exclude`;
}

/** @returns the tool, or why it cannot be offered */
function read(server: string, own: string, given: object): OfferedTool | string {
  const {
    description,
    inputSchema: schema,
    title,
    execution,
    annotations,
  } = given as Readonly<Record<string, unknown>>;
  const { taskSupport } = (execution ?? {}) as { taskSupport?: unknown };
  if (taskSupport === "required") return "it runs as a task only, which is not supported";
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
