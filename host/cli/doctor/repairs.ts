/**
 * Repairs files and undoes repairs. The list of actions is written before the first action, so that an interrupted repair
 * can be undone too. `<state>/doctor/<id>/` holds the list and the moved files.
 */
import { chmod, lstat, mkdir, readFile, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { GatewayError, invalidRequest, matches, messageOf, notFound, type Static, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import { octal, type Repair } from "./finding.ts";

const Action = Type.Union([
  Type.Object({ kind: Type.Literal("mode"), path: Type.String(), former: Type.Integer(), mode: Type.Integer() }),
  Type.Object({ kind: Type.Literal("remove"), path: Type.String(), kept: Type.String() }),
]);
type Action = Static<typeof Action>;

const Manifest = Type.Object({
  version: Type.Literal(1),
  id: Type.String(),
  at: Type.String(),
  actions: Type.Array(Action),
  undone: Type.Boolean(),
});
type Manifest = Static<typeof Manifest>;

/** The result of one action. */
export interface Done {
  readonly path: string;
  readonly what: string;
  /** Why it failed; absent on success. */
  readonly failed?: string;
}

const ID = /^[0-9]{8}T[0-9]{6}-[0-9a-f]{6}$/;

function directoryOf(stateDir: string, id: string): string {
  if (!ID.test(id)) invalidRequest(`"${id}" is not the id of a repair\nNext: ls ${join(stateDir, "doctor")}`);
  return join(stateDir, "doctor", id);
}

/** @param now epoch ms @param random six hex digits */
export function repairId(now: number, random: string): string {
  return `${new Date(now).toISOString().replace(/[-:]|\.\d+Z/g, "")}-${random}`;
}

/** @returns the result of each action. After a failed action the others continue. */
export async function repair(stateDir: string, id: string, repairs: readonly Repair[], now: number): Promise<Done[]> {
  const directory = directoryOf(stateDir, id);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const actions = await Promise.all(
    repairs.map((one, index) => actionOf(one, join(directory, `${index}-${basename(one.path)}`))),
  );
  const at = new Date(now).toISOString();
  await keep(directory, { version: 1, id, at, actions, undone: false });
  const done: Done[] = [];
  for (const action of actions) done.push(await attempt(action, () => doIt(action)));
  return done;
}

async function actionOf(wanted: Repair, kept: string): Promise<Action> {
  if (wanted.kind === "remove") return { kind: "remove", path: wanted.path, kept };
  const { mode } = await lstat(wanted.path);
  return { kind: "mode", path: wanted.path, former: mode & 0o7777, mode: wanted.mode };
}

async function doIt(action: Action): Promise<void> {
  if (action.kind === "remove") return rename(action.path, action.kept);
  await withMode(action.path, action.mode);
}

/** Does not follow links: the path may have been replaced with a link meanwhile. */
async function withMode(path: string, mode: number): Promise<void> {
  if ((await lstat(path)).isSymbolicLink()) throw new Error("it is now a symbolic link");
  await chmod(path, mode);
}

async function attempt(action: Action, work: () => Promise<void>, back = false): Promise<Done> {
  const what = describe(action, back);
  try {
    await work();
    return { path: action.path, what };
  } catch (error) {
    return { path: action.path, what, failed: messageOf(error) };
  }
}

function describe(action: Action, back: boolean): string {
  if (action.kind === "remove") return back ? "put back" : `moved to ${action.kept}`;
  return back ? `mode restored to ${octal(action.former)}` : `mode ${octal(action.former)} -> ${octal(action.mode)}`;
}

function keep(directory: string, manifest: Manifest): Promise<void> {
  return replaceFile(join(directory, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Undoes a repair, the last action first. @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` when it was already undone */
export async function undo(stateDir: string, id: string): Promise<Done[]> {
  const directory = directoryOf(stateDir, id);
  const manifest = await read(directory, id);
  if (manifest.undone) invalidRequest(`the repair ${id} was already undone\nNext: svc doctor`);
  const done: Done[] = [];
  for (const action of manifest.actions.toReversed()) done.push(await attempt(action, () => takeBack(action), true));
  if (done.every(({ failed }) => failed === undefined)) await keep(directory, { ...manifest, undone: true });
  return done;
}

async function read(directory: string, id: string): Promise<Manifest> {
  const text = await readFile(join(directory, "manifest.json"), "utf8").catch(() =>
    notFound(`there is no repair ${id}\nNext: svc doctor`),
  );
  try {
    const value: unknown = JSON.parse(text);
    if (matches(Manifest, value)) return value;
  } catch {
    // refused below
  }
  throw new GatewayError(
    "INVALID_REQUEST",
    `${directory}/manifest.json is not a valid list of repairs\nNext: move the files in that directory back by hand`,
  );
}

async function takeBack(action: Action): Promise<void> {
  if (action.kind === "mode") return withMode(action.path, action.former);
  if (!(await isThere(action.kept))) return; // it was never moved
  if (await isThere(action.path)) throw new Error(`a new file exists at this path; the original is in ${action.kept}`);
  await rename(action.kept, action.path);
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
