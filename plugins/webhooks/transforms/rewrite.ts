/**
 * A compiler plugin that resolves literal imports, and replaces every other way to request a module by the module context
 * of the loader, which applies the same rule at run time. The plugin works on the syntax tree that is compiled: the imports it
 * lists are the imports that run.
 */

/** Name of the module context among the virtual modules; no file can request it by this name. */
export const MODULE_CONTEXT = "svc:module-context";

/** `import`: may be asynchronous; `require`: must be available synchronously. */
export type Manner = "import" | "require";

export interface Rewriting {
  /** Path of the file in the transforms directory. */
  readonly path: string;
  /** How static imports of the file are compiled. */
  readonly manner: Manner;
  /** @returns what to import instead. @throws for an import that is not allowed */
  resolve(specifier: string, manner: Manner, line: number | undefined): string;
  /** Text of the first directive of the compiled code. Called after the last `resolve`. */
  note(): string;
}

/** The parts of the compiler's syntax tree used here; the compiler has no types. */
interface TreeNode {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly importKind?: string;
  readonly exportKind?: string;
  readonly callee?: TreeNode;
  readonly meta?: TreeNode;
  readonly expression?: TreeNode;
  readonly arguments?: TreeNode[];
  readonly loc?: { readonly start: { readonly line: number } };
  source?: TreeNode | null;
  interpreter?: unknown;
}
interface TreePath {
  readonly node: TreeNode;
  readonly parent: TreeNode;
  readonly scope: { hasBinding(name: string, noGlobals: boolean): boolean; generateUid(name: string): string };
  replaceWith(node: TreeNode): void;
  traverse(visitor: Visitor): void;
  unshiftContainer(list: "directives" | "body", node: TreeNode | TreeNode[]): void;
}
type Visitor = Readonly<Record<string, (path: TreePath) => void>>;
interface CompilerApi {
  readonly types: Readonly<Record<"stringLiteral" | "directive" | "directiveLiteral", (part: unknown) => TreeNode>>;
  readonly template: {
    expression(code: string): (parts?: object) => TreeNode;
    statements(code: string): () => TreeNode[];
  };
}

export function rewriteImports({ path: file, manner, resolve, note }: Rewriting) {
  return ({ types, template }: CompilerApi) => {
    let context = "";
    const settled = ({ value, loc }: TreeNode, how: Manner) => resolve(String(value), how, loc?.start.line);
    const replaced = (node: TreeNode, how: Manner) => types.stringLiteral(settled(node, how));

    function fromSource({ node }: TreePath): void {
      const isType = node.importKind === "type" || node.exportKind === "type";
      if (!node.source || isType) return;
      if (manner === "import") node.source = replaced(node.source, manner);
      else settled(node.source, manner); // becomes a `require`
    }

    const visitor: Visitor = {
      ImportDeclaration: fromSource,
      ExportNamedDeclaration: fromSource,
      ExportAllDeclaration: fromSource,
      TSExternalModuleReference({ node, parent }) {
        if (node.expression && parent.importKind !== "type") settled(node.expression, "require");
      },
      CallExpression({ node, scope }) {
        const { callee, arguments: list = [] } = node;
        const [name] = list;
        const isLiteral = name?.type === "StringLiteral";
        if (callee?.type === "Import" && name)
          list[0] = isLiteral
            ? replaced(name, "import")
            : template.expression(`${context}.target(NAME)`)({ NAME: name });
        else if (callee?.name === "require" && isLiteral && !scope.hasBinding("require", true))
          settled(name, "require");
      },
    };

    return {
      name: "svc-imports",
      pre({ path: program }: { readonly path: TreePath }) {
        context = program.scope.generateUid("context");
        program.traverse({
          MetaProperty(path) {
            if (path.node.meta?.name === "import") path.replaceWith(template.expression(`${context}.meta`)());
          },
        });
      },
      visitor: {
        Program: {
          /** At this point the compiler has removed types and type imports, and nothing else. */
          enter: (program: TreePath) => program.traverse(visitor),
          /** At this point no variable of the file has the name of a parameter of its wrapper. */
          exit(program: TreePath) {
            const head = `const ${context} = require(${JSON.stringify(MODULE_CONTEXT)})(${JSON.stringify(file)}, require);
              require = module.require = ${context}.require;
              __filename = ${context}.meta.filename;
              __dirname = ${context}.meta.dirname;`;
            const first = { _blockHoist: 4 }; // above imports, which the compiler hoists
            const statements = template
              .statements(head)()
              .map((statement) => Object.assign(statement, first));
            program.unshiftContainer("body", statements);
            program.node.interpreter = null; // `#!` would come before the note
            program.unshiftContainer("directives", types.directive(types.directiveLiteral(note())));
          },
        },
      },
    };
  };
}
