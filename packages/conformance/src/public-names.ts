/**
 * What packages export, as the compiler sees it, and what is said of it.
 *
 * @module
 */

import ts from 'typescript';

/** A name that a package exports, or a member of one. */
export interface PublicName {
  /** Such as `Limiter.consume`. */
  readonly name: string;
  /** Whether it can be called or made: such a name is worth an example. */
  readonly callable: boolean;
  readonly doc: string;
  readonly examples: readonly string[];
}

/** Returns all that the modules export, and the members of what can be used through it. */
export function publicNamesOf(root: string, entries: readonly string[]): PublicName[] {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const program = ts.createProgram(entries, { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  return entries.flatMap((entry) => {
    const file = program.getSourceFile(entry);
    const module = file && checker.getSymbolAtLocation(file);
    return module === undefined
      ? []
      : checker.getExportsOfModule(module).flatMap((symbol) => namesOf(checker, symbol));
  });
}

function namesOf(checker: ts.TypeChecker, exported: ts.Symbol): PublicName[] {
  const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
  const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
  const told = (one: ts.Symbol, name: string, callable: boolean): PublicName => ({
    name,
    callable,
    doc: ts.displayPartsToString(one.getDocumentationComment(checker)),
    examples: one
      .getJsDocTags(checker)
      .filter((tag) => tag.name === 'example')
      .map(({ text }) => ts.displayPartsToString(text)),
  });
  const callable =
    (symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class | ts.SymbolFlags.Variable)) !== 0;
  const members = [...(symbol.members?.values() ?? [])].filter(isPublicMember);
  return [
    told(symbol, exported.name, callable),
    ...members.map((member) => told(member, `${exported.name}.${member.name}`, false)),
  ];
}

function isPublicMember({ name, declarations: [declaration] = [] }: ts.Symbol): boolean {
  const { Constructor, TypeParameter } = ts.SyntaxKind;
  const isNamed =
    declaration !== undefined && declaration.kind !== Constructor && declaration.kind !== TypeParameter;
  return isNamed && !name.includes('#') && !name.startsWith('__');
}
