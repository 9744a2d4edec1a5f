/** What a request to `/tools/invoke` asks for. Pure. Spec: http/tools-invoke.md §2 and §3. */
import { invalidRequest, parseJsonBody } from "@svc/sdk";

type Fields = Readonly<Record<string, unknown>>;

/** A wish as it came, blanks taken off. */
export interface Invocation {
  readonly tool: string;
  /** Goes into the arguments where the tool knows it. */
  readonly action?: string;
  readonly args: Fields;
  /** `undefined`: the main session. */
  readonly sessionKey?: string;
  readonly dryRun: boolean;
}

/**
 * Whether the declared content type can be JSON. Choice: nothing declared, text, bytes and what `curl -d` says of everything
 * it sends are taken as well; what is plainly something else is refused.
 */
export function mayBeJson(contentType: string | undefined): boolean {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return type === "" || TAKEN.has(type) || /[/+]json$/.test(type);
}

const TAKEN = new Set(["text/plain", "application/octet-stream", "application/x-www-form-urlencoded"]);

/** @throws GatewayError `INVALID_REQUEST` */
export function parseInvocation(rawBody: Uint8Array): Invocation {
  const body = parseJsonBody(rawBody);
  const fields: Fields = isObject(body) ? body : {};
  const tool = textOf(fields["name"]) ?? textOf(fields["tool"]);
  if (tool === undefined) invalidRequest("tools.invoke requires body.tool");
  const { sessionKey, args } = fields;
  // Choice: the facts take anything else for no arguments, and so run a tool without what was meant for it.
  if (args !== undefined && args !== null && !isObject(args)) invalidRequest("body.args must be an object");
  // Choice: what decides on rules is never guessed.
  if (sessionKey !== undefined && sessionKey !== null && typeof sessionKey !== "string")
    invalidRequest("body.sessionKey must be a text");
  const [action, key] = [textOf(fields["action"]), textOf(sessionKey)];
  return {
    tool,
    ...(action === undefined ? {} : { action }),
    args: isObject(args) ? args : {},
    ...(key === undefined ? {} : { sessionKey: key }),
    dryRun: fields["dryRun"] === true,
  };
}

/** `action` joins the arguments where the tool has a parameter of that name and nobody has set it. */
export function argumentsOf({ action, args }: Invocation, parameters: unknown): Fields {
  if (action === undefined || Object.hasOwn(args, "action")) return args;
  const properties = isObject(parameters) ? parameters["properties"] : undefined;
  return isObject(properties) && Object.hasOwn(properties, "action") ? { ...args, action } : args;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
