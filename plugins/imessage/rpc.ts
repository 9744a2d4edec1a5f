/** The program `imsg rpc`: JSON-RPC 2.0, one message per line. */
import { homedir } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { jsonOf } from "@svc/kit/body";
import { withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, lazy, type Logger, matches, Type, untilAborted } from "@svc/sdk";

const CALL_MS = 20_000;
const MAX_LINE_CHARS = 10_000_000;
/** Notifications that wait for the gateway. More end the program, and the next one continues after the last read message. */
const MAX_NOTES = 1_000;
const LAST_WORDS_CHARS = 300;
/** Variables that imsg or ssh needs. The gateway's own ones contain secrets. */
const PASSED = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "SSH_AUTH_SOCK"];
/** What imsg or its SSH server says when it must not read the Messages database. */
const NO_ACCESS = /full disk access|authorization denied|unable to open database|operation not permitted/i;

const kit = lazy(() => import("@svc/kit/exec"));

const Failure = Type.Object({ code: Type.Number(), message: Type.String(), data: Type.Optional(Type.Unknown()) });
const Line = Type.Object({
  method: Type.Optional(Type.String()),
  error: Type.Optional(Failure),
});

export interface Notification {
  readonly method: string;
  readonly params: unknown;
}

export interface RpcContext {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Pick<Logger, "warn">;
  /** Called when `take` has something new. */
  readonly onNews: () => void;
}

export interface Rpc {
  /** @throws GatewayError `NOT_LINKED`: imsg cannot read the messages; `INVALID_REQUEST`; `UNAVAILABLE` */
  call(method: string, params: object, signal: AbortSignal, ms?: number): Promise<unknown>;
  /** The notifications since the last call. @throws GatewayError the program has ended */
  take(): readonly Notification[];
  close(): Promise<void>;
}

const failure = (code: "INVALID_REQUEST" | "NOT_LINKED" | "UNAVAILABLE", text: string) =>
  new GatewayError(code, `imsg: ${text}`);
const ALLOW =
  "; next: allow Full Disk Access for the program that starts imsg, in the Privacy & Security settings of the Mac";

/** Starts the program. @throws GatewayError `NOT_LINKED`: it is missing */
export async function startRpc(command: readonly string[], { clock, log, onNews }: RpcContext): Promise<Rpc> {
  const { ownPlaces, resolveProgram, startProgram } = await kit();
  const [name = "", ...args] = command;
  const file = await resolveProgram(name, homedir(), ownPlaces());
  if (file === undefined)
    throw failure("NOT_LINKED", `no program ${name}; next: install imsg, or write its full path into command`);
  const calls = new Map<unknown, { resolve(result: unknown): void; reject(error: unknown): void }>();
  let notes: Notification[] = [];
  let fault: GatewayError | undefined;
  let [count, rest, lastWords] = [0, "", ""];
  const decoder = new StringDecoder("utf8");
  const onOutput = (chunk: Buffer, stream: "stdout" | "stderr") => {
    if (stream === "stderr") lastWords = (lastWords + chunk.toString()).slice(-LAST_WORDS_CHARS);
    else read(decoder.write(chunk));
  };
  const env = Object.fromEntries(PASSED.flatMap((key) => (process.env[key] ? [[key, process.env[key]]] : [])));
  const program = startProgram({ file, argv: [name, ...args, "rpc"], cwd: homedir(), env, stdin: "pipe", onOutput });
  const ended = program.ended.then(({ exitCode, error }) => end(endOf(exitCode, lastWords, error)));

  function end(error: GatewayError): void {
    fault ??= error;
    for (const { reject } of calls.values()) reject(fault);
    program.end("it is no longer needed");
    onNews();
  }

  function read(text: string): void {
    const [first = "", ...more] = text.split("\n");
    const lines = more.length === 0 ? [] : [rest + first, ...more.slice(0, -1)];
    rest = more.at(-1) ?? rest + first;
    if (rest.length > MAX_LINE_CHARS) end(failure("UNAVAILABLE", "a line has more than 10 MB"));
    for (const line of lines) if (line.trim() !== "") accept(line);
  }

  function accept(line: string): void {
    const message = jsonOf(line);
    if (!matches(Line, message)) return log.warn({ text: line.slice(0, 80) }, "a line of imsg is malformed; skipped");
    const { method, error } = message;
    const { id, params, result } = message as Readonly<Record<string, unknown>>; // further keys
    if (method !== undefined) {
      notes.push({ method, params });
      if (notes.length > MAX_NOTES) end(failure("UNAVAILABLE", "it is faster than the gateway"));
      return onNews();
    }
    const call = calls.get(id);
    if (!error) return call?.resolve(result);
    call?.reject(refusalOf(error));
    if (error.code === -32004) end(refusalOf(error)); // imsg sends nothing more until it is started again
  }

  return {
    call(method, params, signal, ms = CALL_MS) {
      const late = () => `imsg did not answer ${method} in time`;
      const id = ++count;
      return withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
        if (fault) throw fault;
        const answer = new Promise<unknown>((resolve, reject) => calls.set(id, { resolve, reject }));
        program.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
        return untilAborted(answer, ending).finally(() => calls.delete(id));
      });
    },
    take() {
      if (fault) throw fault;
      return notes.splice(0);
    },
    close() {
      program.end("it is no longer needed");
      return ended;
    },
  };
}

function endOf(exitCode: number | null, lastWords: string, error?: string): GatewayError {
  const words = lastWords.trim().replace(/\s+/g, " ") || error || `exit code ${exitCode}`;
  if (NO_ACCESS.test(words)) return failure("NOT_LINKED", words + ALLOW);
  const isMissing = exitCode === 126 || exitCode === 127; // so say shells, e.g. that of an SSH server
  if (isMissing) return failure("NOT_LINKED", `${words}; next: install it on the Mac, and check command`);
  return failure("UNAVAILABLE", words);
}

function refusalOf({ code, message, data }: { code: number; message: string; data?: unknown }): GatewayError {
  const { retry_safe: isSafe, detail = data } = Object(data) as { retry_safe?: unknown; detail?: unknown }; // compared
  const words = typeof detail === "string" ? `${message}: ${detail}` : message;
  if (code === -32002 || NO_ACCESS.test(words)) return failure("NOT_LINKED", words + ALLOW);
  if (code === -32602 || code === -32601) return failure("INVALID_REQUEST", words);
  if (code !== -32001 || isSafe !== false) return failure("UNAVAILABLE", words);
  return failure("INVALID_REQUEST", `${words}; the message may have been sent, so it is not sent again`);
}
