/** Opens an address in the browser of this machine. */
import { spawn } from "node:child_process";

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
}

/** Milliseconds after which a program that still runs has opened the address. Choice: some openers stay until the browser ends. */
const PATIENCE_MS = 3_000;

/** Command lines that open an address, in the order to try; none if no browser can be expected on the screen of the user. */
export function openersOf(url: string, { platform, env }: Machine): readonly (readonly [string, ...string[]])[] {
  if (env["SSH_CONNECTION"]) return []; // the browser would open on the screen of another machine
  if (platform === "darwin") return [["open", url]];
  if (platform === "win32") return [["rundll32", "url.dll,FileProtocolHandler", url]];
  return [
    ...(env["WSL_DISTRO_NAME"] ? [["wslview", url] as const] : []),
    ...(env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? [["xdg-open", url] as const] : []),
  ];
}

/** @returns whether a program took the address */
export async function openPage(url: string, machine: Machine): Promise<boolean> {
  const env = Object.fromEntries(Object.entries(machine.env).filter(([name]) => !name.startsWith("SVC_")));
  for (const [program, ...args] of openersOf(url, machine)) if (await opens(program, args, env)) return true;
  return false;
}

function opens(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: "ignore", detached: true });
    const late = setTimeout(() => {
      child.unref();
      resolve(true);
    }, PATIENCE_MS);
    const end = (isOpen: boolean) => {
      clearTimeout(late);
      resolve(isOpen);
    };
    child.once("error", () => end(false)); // it is not installed
    child.once("exit", (code) => end(code === 0));
  });
}
