/** The configuration section `mcp`. Choice: all keys; the specification has no keys for such servers. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";
import { SANDBOX_KEYS } from "@svc/sdk/tools";
import { isAbsolute } from "node:path";

const seconds = (description: string, standard: number, maximum: number) =>
  Type.Integer({ minimum: 1, maximum, default: standard, description: `${description}; seconds; default ${standard}` });
const globs = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));

const ServerFields = Strict(
  {
    command: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Program of the server, used over its standard input and output",
      }),
    ),
    args: Type.Optional(Type.Array(Type.String(), { description: "Arguments of the program; default none" })),
    env: Type.Optional(
      Type.Record(Type.String(), SecretSetting(), {
        propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
        description:
          "Environment of the program in addition to PATH, HOME, LANG and TZ: texts or references to secrets",
      }),
    ),
    cwd: Type.Optional(
      Type.Refine(
        Type.String({
          description: "Absolute path of the working directory; default: a private directory of this plugin",
        }),
        (path) => isAbsolute(path),
        () => "must be an absolute path",
      ),
    ),
    sandbox: Type.Optional(Strict(SANDBOX_KEYS, { description: "Sandbox of the program; default none" })),
    url: Type.Optional(
      Type.Refine(
        SecretSetting({ description: "Address of a server over HTTP, or a reference to it; always hidden" }),
        (url) => typeof url !== "string" || isAddress(url),
        () => "must be an address such as https://mcp.example.com/mcp, without user name and password",
      ),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), SecretSetting(), {
        propertyNames: { pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" },
        description: "Sent with every request to `url`: texts or references to secrets",
      }),
    ),
    transport: Type.Optional(
      Type.Enum(["streamable-http", "sse"], {
        description: "Transport of the server at `url`; sse is the older one; default streamable-http",
      }),
    ),
    enabled: Type.Boolean({ default: true, description: "false: the server is not connected; default true" }),
    toolTimeoutSeconds: seconds("Timeout of a tool call", 60, 3_600),
    startTimeoutSeconds: seconds("Timeout of connecting, of listing tools and of a ping", 30, 600),
    include: globs("Tools to offer, by the server's own names, `*` for any characters; default all"),
    exclude: globs("Tools not to offer, written like `include`, which it overrides; default none"),
    scope: Type.Enum(["operator.read", "operator.write", "operator.admin"], {
      default: "operator.write",
      description: "Scope that a run needs to use the tools, whatever the server declares; default operator.write",
    }),
  },
  { default: {} }, // typebox fills in defaults below a record only if the values of the record have a default
);

const ServerEntry = Type.Refine(
  ServerFields,
  (entry) => misfitOf(entry) === undefined,
  (entry) => misfitOf(entry) ?? "",
);
export type ServerEntry = Static<typeof ServerEntry>;

/** Server names precede `__` in tool names, so they must not contain `__`. */
export const McpConfig = Strict({
  servers: Type.Record(Type.String(), ServerEntry, {
    default: {},
    propertyNames: { pattern: "^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$", maxLength: 32 },
    description: "MCP servers by name: letters, digits, - and single _, at most 32",
  }),
});
export type McpConfig = Static<typeof McpConfig>;

function misfitOf({
  command,
  url,
  args,
  env,
  cwd,
  sandbox,
  headers,
  transport,
}: Static<typeof ServerFields>): string | undefined {
  if ((command === undefined) === (url === undefined)) return "needs either command or url";
  if (url !== undefined && (args ?? env ?? cwd ?? sandbox) !== undefined) {
    return "args, env, cwd and sandbox belong to command, not to url";
  }
  if (command !== undefined && (headers ?? transport) !== undefined) return "headers and transport belong to url";
  return undefined;
}

/** Whether the text is an http or https address without user name and password, which `fetch` refuses. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return ["http:", "https:"].includes(protocol) && username === "" && password === "";
}
