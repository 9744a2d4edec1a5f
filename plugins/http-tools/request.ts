/** Parses a request to `/tools/invoke`. Pure. Spec: http/tools-invoke.md §2 and §3. */
import { invalidRequest, parseJsonBody } from "@svc/sdk";

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a request; texts are trimmed. */
export interface Invocation {
  readonly tool: string;
  /** Added to the arguments when the tool has a parameter `action`. */
  readonly action?: string;
  readonly args: Fields;
  /** `undefined`: the main session. */
  readonly sessionKey?: string;
  readonly dryRun: boolean;
}

/**
 * Whether the declared content type may be JSON. Choice: also accepts no content type, text, bytes, and the form type that
 * `curl -d` always sends; every other type is refused.
 */
export function mayBeJson(contentType: string | undefined): boolean {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return type === "" || ACCEPTED_TYPES.has(type) || /[/+]json$/.test(type);
}

const ACCEPTED_TYPES = new Set(["text/plain", "application/octet-stream", "application/x-www-form-urlencoded"]);

/** @throws GatewayError `INVALID_REQUEST` */
export function parseInvocation(rawBody: Uint8Array): Invocation {
  const body = parseJsonBody(rawBody);
  const fields: Fields = isObject(body) ? body : {};
  const tool = textOf(fields["name"]) ?? textOf(fields["tool"]);
  if (tool === undefined) invalidRequest("tools.invoke requires body.tool");
  const { sessionKey, args } = fields;
  // Choice: the spec treats any other type as `{}`, which would run the tool without its intended arguments.
  if (args !== undefined && args !== null && !isObject(args)) invalidRequest("body.args must be an object");
  // Choice: the session decides which rules apply, so its key is never guessed.
  if (sessionKey !== undefined && sessionKey !== null && typeof sessionKey !== "string")
    invalidRequest("body.sessionKey must be a string");
  const [action, key] = [textOf(fields["action"]), textOf(sessionKey)];
  return {
    tool,
    ...(action === undefined ? {} : { action }),
    args: isObject(args) ? args : {},
    ...(key === undefined ? {} : { sessionKey: key }),
    dryRun: fields["dryRun"] === true,
  };
}

/** Adds `action` to the arguments when the tool has such a parameter and `args` does not set it. */
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
