/** One connection to one server, from its first message to its last. The library is loaded with the first one. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, lazy, messageOf, untilAborted } from "@svc/sdk";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createBoundedFetch, type Fetch } from "./bounded-fetch.ts";
import { createChildTransport } from "./child-transport.ts";
import type { HttpTarget, Target } from "./target.ts";

export interface Session {
  /** All pages of `tools/list`, as they came. */
  list(signal: AbortSignal): Promise<readonly unknown[]>;
  /** The result of `tools/call`, as it came; what the server refuses with is one with `isError`. */
  call(tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Answer>;
  ping(signal: AbortSignal): Promise<void>;
  /** Resolves with the reason when it ends, whoever ended it. */
  readonly ended: Promise<string>;
  /** Safe to call twice. Resolves when nothing of it is left. */
  close(): Promise<void>;
}

export type Answer = Readonly<Record<string, unknown>>;

export interface SessionEvents {
  /** The server says that its tools are others by now. */
  toolsChanged(): void;
  /** Something went wrong on the way; it may work or not. */
  doubt(reason: string): void;
}

/** Must end with the signal, and leave nothing behind when it throws. */
export type OpenSession = (target: Target, events: SessionEvents, signal: AbortSignal) => Promise<Session>;

export interface SessionOptions {
  readonly clock: Clock;
  /** Default: the global one. */
  readonly fetch?: Fetch;
}

/** Choice: what is taken of a list. */
const MAX_PAGES = 50;
const MAX_LISTED = 1_000;
/** Milliseconds for saying goodbye to a server over HTTP. */
const GOODBYE_MS = 1_000;
/** Milliseconds; the library's own limit, out of the way of ours. */
const NEVER_MS = 2 ** 31 - 1;

/** A way to a server. */
interface Way {
  readonly transport: Transport;
  /** Why it is at its end, where it knows. */
  why(): string | undefined;
  /** Whether this error is the end of it, though nobody has closed it. */
  isLostBy(error: Error): boolean;
  /** Resolves when nothing is left of it. */
  close(): Promise<void>;
}

export function createOpenSession(options: SessionOptions): OpenSession {
  return async (target, events, signal) => {
    const library = await loadLibrary();
    const { place } = target;
    const way =
      "program" in place ? programWay(library, place.program, options) : httpWay(library, place.http, options);
    const client = new library.Client(
      { name: "svc", version: "1" },
      {
        capabilities: {},
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
      },
    );
    let isOver = false;
    const ended = new Promise<string>((resolve) => {
      const end = (reason: string) => {
        isOver = true;
        resolve(reason);
      };
      client.onclose = () => end(way.why() ?? "the connection was closed");
      client.onerror = (error) => {
        if (way.isLostBy(error)) end(messageOf(error));
        else events.doubt(messageOf(error));
      };
    });
    client.setNotificationHandler(library.ToolListChangedNotificationSchema, () => events.toolsChanged());
    let closing: Promise<void> | undefined;
    const close = () => (closing ??= way.close().then(() => client.close()));
    try {
      await untilAborted(client.connect(way.transport, { signal, timeout: NEVER_MS }), signal);
    } catch (error) {
      await close();
      throw new Error(way.why() ?? causeOf(error), { cause: error });
    }
    return sessionOf(client, library, { ended, isOver: () => isOver, close });
  };
}

type Ends = Pick<Session, "ended" | "close"> & { readonly isOver: () => boolean };

function sessionOf(client: Client, library: Library, { isOver, ...rest }: Ends): Session {
  const { ResultSchema, EmptyResultSchema, McpError } = library;
  const ask = async (method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Answer> =>
    client.request({ method, params }, ResultSchema, { signal, timeout: NEVER_MS });
  return {
    ...rest,

    async list(signal) {
      const tools: unknown[] = [];
      if (!client.getServerCapabilities()?.tools) return tools;
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES && tools.length < MAX_LISTED; page += 1) {
        const result = await ask("tools/list", cursor === undefined ? {} : { cursor }, signal);
        const listed = result["tools"];
        if (!Array.isArray(listed)) throw new Error("it lists its tools in a way that cannot be read");
        tools.push(...listed.slice(0, MAX_LISTED - tools.length));
        cursor = result["nextCursor"];
        if (typeof cursor !== "string" || cursor === "") break;
      }
      return tools;
    },

    async call(tool, args, signal) {
      try {
        return await ask("tools/call", { name: tool, arguments: args }, signal);
      } catch (error) {
        // The library makes such errors of its own, too: of a request that was ended, and of a connection that is over.
        if (!(error instanceof McpError) || signal.aborted || isOver()) throw error;
        return { content: [{ type: "text", text: error.message }], isError: true };
      }
    },

    async ping(signal) {
      await client.request({ method: "ping" }, EmptyResultSchema, { signal, timeout: NEVER_MS });
    },
  };
}

/** What `fetch` says last is the least of it: the reason stands in the cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return messageOf(error) + cause;
}

function programWay({ ReadBuffer, serializeMessage }: Library, program: Program, { clock }: SessionOptions): Way {
  const framing = { buffer: new ReadBuffer(), serialize: serializeMessage };
  const transport = createChildTransport(program, framing, clock);
  return { transport, why: transport.end, isLostBy: () => false, close: () => transport.close() };
}

type Program = Parameters<typeof createChildTransport>[0];

function httpWay(
  library: Library,
  { url, headers, transport: kind }: HttpTarget,
  { clock, fetch }: SessionOptions,
): Way {
  const bounded = createBoundedFetch(clock, fetch ? { fetch } : {});
  const shared = { requestInit: { headers: { ...headers } }, fetch: bounded.fetch };
  const transport = kind === "sse" ? new library.SseTransport(url, shared) : new library.HttpTransport(url, shared);
  return {
    transport: transport as Transport, // `sessionId` may be undefined there, which the interface does not say
    why: () => undefined,
    // A stream that is opened anew in the older way belongs to another session; the newer one opens its own again, and
    // without it changes of the tools would not be heard. The library says in words alone that it gave up.
    isLostBy: ({ message }) => kind === "sse" || message.startsWith("Maximum reconnection attempts"),
    async close() {
      bounded.close();
      if ("terminateSession" in transport) {
        const goodbye = (ending: AbortSignal) => untilAborted(transport.terminateSession(), ending);
        const late = () => "no goodbye in time";
        await withDeadline({ ms: GOODBYE_MS, clock, signals: [], late }, goodbye).catch(() => undefined);
      }
      await transport.close();
    },
  };
}

type Library = Awaited<ReturnType<typeof importLibrary>>;
const loadLibrary = lazy(importLibrary);

async function importLibrary() {
  const [client, http, sse, stdio, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/client/sse.js"),
    import("@modelcontextprotocol/sdk/shared/stdio.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  return {
    Client: client.Client,
    HttpTransport: http.StreamableHTTPClientTransport,
    SseTransport: sse.SSEClientTransport,
    ReadBuffer: stdio.ReadBuffer,
    serializeMessage: stdio.serializeMessage,
    ResultSchema: types.ResultSchema,
    EmptyResultSchema: types.EmptyResultSchema,
    ToolListChangedNotificationSchema: types.ToolListChangedNotificationSchema,
    McpError: types.McpError,
  };
}
