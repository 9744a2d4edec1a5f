/** The network: one TCP connection, a line of JSON for each message. The only file here that talks to it. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { GatewayError, matches, type Static, Type } from "@svc/sdk";

/** A message as the network words it. */
const Line = Type.Object({ id: Type.String(), from: Type.String(), to: Type.String(), text: Type.String() });
export type Line = Static<typeof Line>;

export interface Connection {
  /** Ends when the connection does; throws when that was an error. */
  readonly messages: AsyncIterable<Line>;
  /** Resolves when the network has it. */
  send(message: Pick<Line, "to" | "text">): Promise<void>;
  /** Safe to call twice. */
  close(): void;
}

/** Ends with `signal`. @throws GatewayError nobody listens there */
export async function connectLines(at: { host: string; port: number }, signal: AbortSignal): Promise<Connection> {
  const socket = connect({ ...at, signal });
  try {
    await once(socket, "connect");
  } catch (error) {
    const why = `nobody listens at ${at.host}:${at.port}; check its host and port`;
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

/** @returns `undefined` for what is no message */
function parse(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return matches(Line, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
