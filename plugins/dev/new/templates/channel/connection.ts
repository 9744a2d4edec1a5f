/** Connects to the network: one TCP connection, one line of JSON per message. No other file here uses the network. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { GatewayError, matches, type Static, Type } from "@svc/sdk";

/** A message in the format of the network. */
const Line = Type.Object({ id: Type.String(), from: Type.String(), to: Type.String(), text: Type.String() });
export type Line = Static<typeof Line>;

export interface Connection {
  /** The received messages. The iteration ends with the connection, and throws if the connection failed. */
  readonly messages: AsyncIterable<Line>;
  /** Resolves when the message is written to the network. */
  send(message: Pick<Line, "to" | "text">): Promise<void>;
  /** Safe to call twice. */
  close(): void;
}

/** Opens a connection, which ends when `signal` aborts. @throws GatewayError if the connection is refused */
export async function connectLines(at: { host: string; port: number }, signal: AbortSignal): Promise<Connection> {
  const socket = connect({ ...at, signal });
  try {
    await once(socket, "connect");
  } catch (error) {
    const why = `nothing is listening at ${at.host}:${at.port}; check host and port`;
    throw new GatewayError("UNAVAILABLE", why, { cause: error });
  }
  return {
    messages: linesOf(socket, signal),
    send: (message) =>
      new Promise((resolve, reject) =>
        socket.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve())),
      ),
    close: () => void socket.destroy(),
  };
}

async function* linesOf(socket: Socket, signal: AbortSignal): AsyncGenerator<Line> {
  const failed: unknown[] = [];
  socket.on("error", (error) => failed.push(error));
  for await (const text of createInterface({ input: socket })) {
    const line = parse(text);
    if (line) yield line;
  }
  if (failed.length > 0 && !signal.aborted) throw failed[0];
}

/** @returns `undefined` if the text is not a message */
function parse(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return matches(Line, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
