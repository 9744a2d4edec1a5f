/** Where this machine keeps its device. Spec: http/config.md §1, by the same rule as the gateway's own. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** `<state>/identity`; the state directory is `SVC_STATE_DIR`, else `.svc` in `SVC_HOME` or the home directory. */
export function identityDirectory(env: Environment = process.env, home: string = homedir()): string {
  const fromHome = (path: string, of: string) => resolve(path.replace(/^~(?=\/|$)/, () => of));
  const own = env["SVC_HOME"]?.trim();
  const base = own ? fromHome(own, home) : home;
  return join(fromHome(env["SVC_STATE_DIR"]?.trim() || join(base, ".svc"), base), "identity");
}
