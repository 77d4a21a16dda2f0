/**
 * Type-checks and runs the examples of the documentation.
 *
 * @module
 */

import { join } from 'node:path';
import { format } from 'node:util';
import ts from 'typescript';

/**
 * Returns what the compiler has to say of the examples, one text per error, under the options of the workspace.
 *
 * @param examples - TypeScript by file name; a name is relative to `root`, and its folder decides what can be imported.
 */
export function typeErrorsOf(root: string, examples: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  // An example is no declaration, and the packages that it imports are checked elsewhere.
  Object.assign(options, {
    isolatedDeclarations: false,
    declaration: false,
    skipLibCheck: true,
    types: ['node'],
  });

  const sources = new Map([...examples].map(([name, text]) => [join(root, name), `${text}\nexport {};\n`]));
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => sources.has(path) || fileExists(path);
  host.getSourceFile = (path, how, ...rest) => {
    const text = sources.get(path);
    return text === undefined ? getSourceFile(path, how, ...rest) : ts.createSourceFile(path, text, how);
  };

  const program = ts.createProgram([...sources.keys()], options, host);
  return [...sources.keys()].flatMap((path) => {
    const file = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      (problem) => {
        const line = file?.getLineAndCharacterOfPosition(problem.start ?? 0).line ?? 0;
        const text = ts.flattenDiagnosticMessageText(problem.messageText, '\n');
        return `${path.slice(root.length + 1)}, its line ${line + 1}: ${text}`;
      },
    );
  });
}

/** Returns the modules that an example imports. */
export function importsOf(example: string): string[] {
  return ts.preProcessFile(example).importedFiles.map(({ fileName }) => fileName);
}

/** Returns what an example claims to print: the comments at the end of its `console.log` lines. */
export function claimsOf(example: string): string[] {
  return [...example.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(([, claim]) => claim);
}

/** Runs an example that imports nothing but `modules`, and returns what it prints. */
export async function printsOf(
  example: string,
  modules: Readonly<Record<string, unknown>>,
): Promise<string[]> {
  const lines: string[] = [];
  await runExample(example, modules, { log: (...args: unknown[]) => lines.push(format(...args)) });
  return lines;
}

/** Runs an example that imports nothing but `modules`; what it returns, if it ends in a `return`, is the result. */
export function runExample(
  example: string,
  modules: Readonly<Record<string, unknown>>,
  console: Partial<Console>,
): Promise<unknown> {
  const { outputText } = ts.transpileModule(example, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
  });
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  const run = AsyncFunction('require', 'exports', 'console', outputText);
  return run((name: string) => modules[name], {}, console);
}
