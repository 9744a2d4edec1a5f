/** An MCP server for tests, made with the library's own server side. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const NO_ARGUMENTS = { type: "object" as const };
const TEXT = { type: "object" as const, properties: { text: { type: "string" } }, required: ["text"] };

interface TestTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  readonly annotations?: { readonly readOnlyHint: boolean };
}

/** 1 x 1 */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

export interface TestServerOptions {
  /** Further tools, listed unchanged; they answer `ok`. */
  readonly more?: readonly TestTool[];
}

/** The server of one connection. `add` adds a tool; `hang` never answers; `end` makes the program exit. */
export function createTestServer({ more = [] }: TestServerOptions = {}): Server {
  const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  const tools: TestTool[] = [
    { name: "echo", description: "Says it again", inputSchema: TEXT },
    { name: "environment", inputSchema: NO_ARGUMENTS },
    { name: "fail", inputSchema: NO_ARGUMENTS },
    { name: "refuse", inputSchema: NO_ARGUMENTS },
    { name: "hang", inputSchema: NO_ARGUMENTS },
    { name: "crash", inputSchema: NO_ARGUMENTS },
    { name: "picture", inputSchema: NO_ARGUMENTS },
    { name: "figures", inputSchema: NO_ARGUMENTS, annotations: { readOnlyHint: true } },
    { name: "add", inputSchema: TEXT },
    ...more,
  ];
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    // Two pages, as a server with many tools has them.
    const half = Math.ceil(tools.length / 2);
    if (params?.cursor === undefined) return { tools: tools.slice(0, half), nextCursor: "rest" };
    return { tools: tools.slice(half) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }) => {
    const said = typeof args["text"] === "string" ? args["text"] : "";
    switch (name) {
      case "echo":
        return text(`you said: ${said}`);
      case "environment":
        return text(JSON.stringify({ ...process.env, cwd: process.cwd(), client: server.getClientCapabilities() }));
      case "fail":
        return { ...text("the disk is full"), isError: true };
      case "refuse":
        throw new Error("not today");
      case "hang":
        return new Promise<never>(() => undefined);
      case "crash":
        process.stderr.write("out of luck\n");
        return process.exit(3);
      case "picture":
        return { content: [{ type: "image" as const, data: PICTURE, mimeType: "image/png" }] };
      case "figures":
        return { content: [], structuredContent: { sum: 3 } };
      case "add":
        tools.push({ name: said, inputSchema: NO_ARGUMENTS });
        await server.sendToolListChanged();
        return text("added");
      default:
        return text("ok");
    }
  });
  return server;
}
