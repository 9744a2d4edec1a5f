/** One connection to one server. The library is imported with the first connection. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, lazy, messageOf, untilAborted } from "@svc/sdk";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createBoundedFetch, type Fetch } from "./bounded-fetch.ts";
import { createChildTransport } from "./child-transport.ts";
import type { HttpTarget, Target } from "./target.ts";

export interface Session {
  /** All pages of `tools/list`, unchecked. */
  list(signal: AbortSignal): Promise<readonly unknown[]>;
  /** The result of `tools/call`, unchecked; a refusal by the server becomes a result with `isError`. */
  call(tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Answer>;
  ping(signal: AbortSignal): Promise<void>;
  /** Resolves with the reason when the session ends, on either side. */
  readonly ended: Promise<string>;
  /** Safe to call twice. Resolves when everything is released. */
  close(): Promise<void>;
}

export type Answer = Readonly<Record<string, unknown>>;

export interface SessionEvents {
  /** The server reports that its tools changed. */
  toolsChanged(): void;
  /** An error occurred; the connection may still work. */
  doubt(reason: string): void;
}

/** Opens a session. It must stop on abort, and release everything when it throws. */
export type OpenSession = (target: Target, events: SessionEvents, signal: AbortSignal) => Promise<Session>;

export interface SessionOptions {
  readonly clock: Clock;
  /** Default: the global `fetch`. */
  readonly fetch?: Fetch;
}

/** Choice: maximum pages and tools accepted from a list. */
const MAX_PAGES = 50;
const MAX_LISTED = 1_000;
/** Timeout for ending the session of a server over HTTP, in milliseconds. */
const TERMINATE_MS = 1_000;
/** Milliseconds; disables the library's own timeout, since the gateway sets its own. */
const NEVER_MS = 2 ** 31 - 1;

/** A transport to a server and its state. */
interface Connection {
  readonly transport: Transport;
  /** Why the connection ended, if known. */
  why(): string | undefined;
  /** Whether the connection is unusable after this error, although it is not closed. */
  isLostBy(error: Error): boolean;
  /** Resolves when everything is released. */
  close(): Promise<void>;
}

export function createOpenSession(options: SessionOptions): OpenSession {
  return async (target, events, signal) => {
    const library = await loadLibrary();
    const { place } = target;
    const connection =
      "program" in place
        ? programConnection(library, place.program, options)
        : httpConnection(library, place.http, options);
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
      client.onclose = () => end(connection.why() ?? "the connection was closed");
      client.onerror = (error) => {
        if (connection.isLostBy(error)) end(messageOf(error));
        else events.doubt(messageOf(error));
      };
    });
    client.setNotificationHandler(library.ToolListChangedNotificationSchema, () => events.toolsChanged());
    let closing: Promise<void> | undefined;
    const close = () => (closing ??= connection.close().then(() => client.close()));
    try {
      await untilAborted(client.connect(connection.transport, { signal, timeout: NEVER_MS }), signal);
    } catch (error) {
      await close();
      throw new Error(connection.why() ?? causeOf(error), { cause: error });
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
        if (!Array.isArray(listed)) throw new Error("its tools/list result has no list of tools");
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
        // The library also throws McpError for aborted requests and closed connections; those are not the server's refusal.
        if (!(error instanceof McpError) || signal.aborted || isOver()) throw error;
        return { content: [{ type: "text", text: error.message }], isError: true };
      }
    },

    async ping(signal) {
      await client.request({ method: "ping" }, EmptyResultSchema, { signal, timeout: NEVER_MS });
    },
  };
}

/** Adds the cause: the message of a `fetch` error alone does not name the reason. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return messageOf(error) + cause;
}

function programConnection(
  { ReadBuffer, serializeMessage }: Library,
  program: Program,
  { clock }: SessionOptions,
): Connection {
  const framing = { buffer: new ReadBuffer(), serialize: serializeMessage };
  const transport = createChildTransport(program, framing, clock);
  return { transport, why: transport.end, isLostBy: () => false, close: () => transport.close() };
}

type Program = Parameters<typeof createChildTransport>[0];

function httpConnection(
  library: Library,
  { url, headers, transport: kind }: HttpTarget,
  { clock, fetch }: SessionOptions,
): Connection {
  const bounded = createBoundedFetch(clock, fetch ? { fetch } : {});
  const shared = { requestInit: { headers: { ...headers } }, fetch: bounded.fetch };
  const transport = kind === "sse" ? new library.SseTransport(url, shared) : new library.HttpTransport(url, shared);
  return {
    transport: transport as Transport, // its `sessionId` may be undefined, which the interface does not declare
    why: () => undefined,
    // With sse, a reopened stream belongs to another session. The newer transport reopens its stream by itself; without a
    // stream, changes of the tools go unnoticed. Only the text of the error tells that the library stopped retrying.
    isLostBy: ({ message }) => kind === "sse" || message.startsWith("Maximum reconnection attempts"),
    async close() {
      bounded.close();
      if ("terminateSession" in transport) {
        const terminate = (ending: AbortSignal) => untilAborted(transport.terminateSession(), ending);
        const late = () => "the session was not ended in time";
        await withDeadline({ ms: TERMINATE_MS, clock, signals: [], late }, terminate).catch(() => undefined);
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
