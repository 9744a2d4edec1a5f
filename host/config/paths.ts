/** Where the gateway keeps its state and its configuration. Spec: http/config.md §1. */
import { messageOf } from "@svc/sdk/errors";
import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

export interface Paths {
  /** `.svc` in the home directory, or `SVC_STATE_DIR`. */
  readonly stateDir: string;
  /** `<state>/svc.json`, or `SVC_CONFIG_PATH`. */
  readonly configPath: string;
  readonly configDir: string;
  /** Compiled TypeScript; private, since what lies there is executed. */
  readonly cacheDir: string;
  /** Secrets the gateway made itself. */
  readonly credentialsDir: string;
  /** What the last start found out about each plugin. */
  readonly startupReport: string;
  readonly home: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Works the paths out; creates nothing. Blank variables count as unset; `~` is `SVC_HOME`, else the home directory. */
export function resolvePaths(env: Environment = process.env, home: string = homedir()): Paths {
  const fromHome = (path: string, of: string) => resolve(path.replace(/^~(?=\/|$)/, () => of));
  const own = env["SVC_HOME"]?.trim();
  const base = own ? fromHome(own, home) : home;
  const expand = (path: string) => fromHome(path, base);
  const stateDir = expand(env["SVC_STATE_DIR"]?.trim() || join(base, ".svc"));
  const configPath = expand(env["SVC_CONFIG_PATH"]?.trim() || join(stateDir, "svc.json"));
  return {
    stateDir,
    configPath,
    configDir: dirname(configPath),
    cacheDir: join(stateDir, "cache", "jiti"),
    credentialsDir: join(stateDir, "credentials"),
    startupReport: join(stateDir, "startup-report.json"),
    home: base,
  };
}

/** Makes the private directories, mode 0700. @throws Error naming the directory that cannot be made or owned, and the way out */
export function preparePaths({ stateDir, cacheDir, credentialsDir }: Paths): void {
  for (const directory of [stateDir, join(stateDir, "cache"), cacheDir, credentialsDir]) {
    try {
      makeDirectory(directory);
      chmodSync(directory, 0o700); // an older, wider directory becomes private, too
    } catch (cause) {
      const why = messageOf(cause);
      throw new Error(`the state directory cannot be used: ${why}\nNext: choose another one with SVC_STATE_DIR`, {
        cause,
      });
    }
  }
}

/** With those above it. Level by level: the runtime's own way spins for ever where a file system makes none, e.g. below /proc. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(directory).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(directory))) throw error;
    makeDirectory(dirname(directory));
    makeDirectory(directory);
  }
}
