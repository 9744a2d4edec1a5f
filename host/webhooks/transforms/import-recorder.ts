/** Notes in compiled code what it imports, so that this is known of code from the cache, too, before any of it runs. */

/** An import by a literal name. */
export interface ImportCall {
  readonly specifier: string;
  /** `require` where there is no waiting: a `require`, or an import of a file that was required itself. */
  readonly manner: "import" | "require";
}

/** What this file uses of the compiler's syntax tree, which comes without types. */
interface TreeNode {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly callee?: TreeNode;
  readonly arguments?: readonly TreeNode[];
  interpreter?: unknown;
}
interface TreePath {
  readonly node: TreeNode;
  readonly scope: { hasBinding(name: string, noGlobals: boolean): boolean };
  traverse(visitor: { CallExpression(path: TreePath): void }): void;
  unshiftContainer(list: "directives", node: TreeNode): void;
}
interface CompilerApi {
  readonly types: { directive(literal: TreeNode): TreeNode; directiveLiteral(text: string): TreeNode };
}

/** Names under which compiled code asks for modules. */
const ASKING: Readonly<Record<string, ImportCall["manner"]>> = { jitiImport: "import", require: "require" };

/** Changes with what is noted, since old code stays in the cache. */
const MARK = "svc-imports-1:";

/** A plugin of the compiler. Sees the code as it will run: imports of types only are gone by then. */
export function createImportRecorder({ types }: CompilerApi) {
  function exit(program: TreePath): void {
    const calls: ImportCall[] = [];
    program.traverse({
      CallExpression({ node, scope }) {
        const [name = "", argument] = [node.callee?.name, node.arguments?.[0]];
        if (node.callee?.type !== "Identifier" || !Object.hasOwn(ASKING, name)) return;
        if (argument?.type !== "StringLiteral" || scope.hasBinding(name, true)) return;
        calls.push({ specifier: String(argument.value), manner: ASKING[name] ?? "import" });
      },
    });
    program.node.interpreter = null; // `#!` would come before the note
    const note = MARK + encodeURIComponent(JSON.stringify(calls)).replaceAll("'", "%27");
    program.unshiftContainer("directives", types.directive(types.directiveLiteral(note)));
  }
  return { name: "svc-imports", visitor: { Program: { exit } } };
}

/** What compiled code imports by literal names. @throws Error when it was not compiled with the recorder */
export function importsIn(code: string): readonly ImportCall[] {
  const note = /^["']svc-imports-1:([^"']*)["']/.exec(code)?.[1];
  if (note === undefined) throw new Error("compiled code does not say what it imports; remove the cache directory");
  return JSON.parse(decodeURIComponent(note)) as ImportCall[]; // our own JSON
}
