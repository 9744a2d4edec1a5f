/** A real IRC server for one test, and its users. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

/** Why this machine has no ngircd; `false` if it has one. If `SVC_TEST_NGIRCD` is set, ngircd must exist. */
export function withoutNgircd(): string | false {
  const isThere = spawnSync("ngircd", ["--version"], { stdio: "ignore" }).status === 0;
  if (isThere || process.env["SVC_TEST_NGIRCD"]) return false;
  return "ngircd is not installed; apt-get install ngircd";
}

export interface IrcServer {
  readonly port: number;
  start(): Promise<void>;
  /** Kills the server without a goodbye to its clients. */
  kill(): Promise<void>;
}

/** Ends with the test. @param password of the server */
export async function startNgircd(t: TestContext, password?: string): Promise<IrcServer> {
  const directory = await mkdtemp(join(tmpdir(), "svc-ngircd-"));
  const port = await freePort();
  const config = join(directory, "ngircd.conf");
  await writeFile(
    config,
    [
      "[Global]",
      "Name = irc.test.example",
      "Info = for a test",
      "Listen = 127.0.0.1",
      `Ports = ${port}`,
      ...(password === undefined ? [] : [`Password = ${password}`]),
      "[Limits]",
      "MaxConnectionsIP = 0",
      "MaxPenaltyTime = 0",
      "[Options]",
      "DNS = no",
      "Ident = no",
      "PAM = no",
    ].join("\n"),
  );
  let stop: () => Promise<void> = () => Promise.resolve();
  const start = async () => {
    const child = spawn("ngircd", ["--nodaemon", "--config", config], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = once(child, "exit");
    stop = async () => {
      child.kill("SIGKILL");
      await ended;
    };
    for (const end = performance.now() + 10_000; !(await answers(port)); await sleep(20))
      if (child.exitCode !== null || performance.now() > end) throw new Error(`ngircd did not start: ${said}`);
  };
  t.after(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  await start();
  return { port, start, kill: () => stop() };
}

export interface Person {
  readonly nick: string;
  /** Every line the server has sent. */
  readonly lines: readonly string[];
  /** Texts of messages, as `<target> <nick>: <text>`. */
  readonly heard: readonly string[];
  write(line: string): void;
  says(to: string, text: string): void;
  /** Waits for a past or future line. */
  sees(pattern: RegExp): Promise<string>;
  leaves(): void;
}

/** A user on the server, who speaks the protocol directly. */
export async function arrive(t: TestContext, { port }: IrcServer, nick: string, password?: string): Promise<Person> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => undefined); // a server that goes away is part of the test
  t.after(() => socket.destroy());
  const lines: string[] = [];
  const heard: string[] = [];
  const write = (line: string) => void socket.write(`${line}\r\n`);
  createInterface({ input: socket }).on("line", (line) => {
    lines.push(line);
    const [, token] = /^PING (.*)$/.exec(line) ?? [];
    if (token !== undefined) write(`PONG ${token}`);
    const [, from, to, text] = /^:([^!]+)!\S+ PRIVMSG (\S+) :(.*)$/.exec(line) ?? [];
    if (from !== undefined) heard.push(`${to} ${from}: ${text}`);
  });
  const sees = async (pattern: RegExp) => {
    for (const end = performance.now() + 20_000; performance.now() < end; await sleep(10)) {
      const found = lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
    }
    throw new Error(`${nick} never saw ${String(pattern)}: ${lines.slice(-10).join("\n")}`);
  };
  if (password !== undefined) write(`PASS ${password}`);
  write(`NICK ${nick}`);
  write(`USER ${nick} 0 * :${nick}`);
  await sees(/ 001 /);
  return {
    nick,
    lines,
    heard,
    write,
    says: (to, text) => write(`PRIVMSG ${to} :${text}`),
    sees,
    leaves: () => socket.destroy(),
  };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" });
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
