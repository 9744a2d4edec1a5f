/** The configuration section `mcp`. Choice: all of it; the spec has no keys for servers of this kind. */
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
        description: "Program that is started and spoken to over its standard input and output",
      }),
    ),
    args: Type.Optional(Type.Array(Type.String(), { description: "Arguments of the program; default none" })),
    env: Type.Optional(
      Type.Record(Type.String(), SecretSetting(), {
        propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
        description: "Environment of the program beside PATH, HOME, LANG and TZ: texts or references to secrets",
      }),
    ),
    cwd: Type.Optional(
      Type.Refine(
        Type.String({ description: "Absolute path of the directory it runs in; default: one of this plugin's own" }),
        (path) => isAbsolute(path),
        () => "must be an absolute path",
      ),
    ),
    sandbox: Type.Optional(Strict(SANDBOX_KEYS, { description: "The sandbox the program runs in" })),
    url: Type.Optional(
      Type.Refine(
        SecretSetting({ description: "Address of a server over HTTP, or a reference to it; never shown again" }),
        (url) => typeof url !== "string" || isAddress(url),
        () => "must be an address such as https://mcp.example.com/mcp, without name and password",
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
        description: "How the server at `url` speaks; sse is the older way; default streamable-http",
      }),
    ),
    enabled: Type.Boolean({ default: true, description: "false: it is not connected; default true" }),
    toolTimeoutSeconds: seconds("How long a call of a tool may take", 60, 3_600),
    startTimeoutSeconds: seconds("How long connecting, listing tools and a sign of life may take", 30, 600),
    include: globs("Tools that are offered, by the server's own names, `*` for any characters; default all"),
    exclude: globs("Tools that are not, the same way; wins over `include`; default none"),
    scope: Type.Enum(["operator.read", "operator.write", "operator.admin"], {
      default: "operator.write",
      description: "What a run must hold to use its tools, whatever the server says of them; default operator.write",
    }),
  },
  { default: {} }, // below a record, defaults are filled in only where its values have one themselves
);

const ServerEntry = Type.Refine(
  ServerFields,
  (entry) => misfitOf(entry) === undefined,
  (entry) => misfitOf(entry) ?? "",
);
export type ServerEntry = Static<typeof ServerEntry>;

/** Server names stand before `__` in the names of tools, so they have no such thing in them. */
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

/** An address of a server: http or https, and no name and password in it, which `fetch` refuses. */
export function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return ["http:", "https:"].includes(protocol) && username === "" && password === "";
}
