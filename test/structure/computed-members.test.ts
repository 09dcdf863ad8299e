import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, type Checker } from 'typescript/unstable/sync';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The files that name members of objects by text, besides `ownMember`, with the reason why no text from outside can do harm. */
const allowed = new Map([
  ['cli/commands/login/login.ts', 'names of environment variables'],
  ['cli/commands/status.ts', 'names of settings'],
  ['cli/usage/describe-tool.ts', 'names of arguments of tools'],
  ['client/stream/reply-assembly.ts', 'the objects inherit nothing, and __proto__ is skipped'],
  ['contract/compiled-check.ts', 'names of the contract'],
  ['core/json/member-at.ts', 'the one function for names from outside'],
  ['records/resolve-references.ts', 'the object has such a member itself'],
  ['service/runs/predict-and-score.ts', 'the objects inherit nothing'],
  ['service/runs/score-statistics.ts', 'the objects inherit nothing'],
  ['service/http/openapi.ts', 'paths of the contract'],
  ['service/query/expand-references.ts', 'the object has such a member itself'],
  ['service/storage/sqlite/kysely-database.ts', 'names of columns'],
  ['settings/resolve-settings.ts', 'names of environment variables'],
]);

const api = new API({ cwd: root });
afterAll(() => api.close());

/**
 * Returns the expression that names a member by its value, in `object[name]`, `name in object` and `{ [name]: value } = object`.
 * A variable with an underscore only takes the member away from the others.
 */
function nameIn(node: Node): Node | undefined {
  if (is.isElementAccessExpression(node)) return node.argumentExpression;
  if (is.isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword) return node.left;
  if (is.isBindingElement(node) && node.propertyName && is.isComputedPropertyName(node.propertyName)) {
    return /^_/.test(node.name?.getText() ?? '') ? undefined : node.propertyName.expression;
  }
  return undefined;
}

/** Returns whether an expression can be any text: its type accepts every string, or an assertion claims another type. */
function isAnyText(name: Node, checker: Checker): boolean {
  if (is.isAsExpression(name)) return true;
  const type = checker.getTypeAtLocation(name);
  return type === undefined || checker.isTypeAssignableTo(checker.getStringType(), type);
}

/** Lists the expressions of a file that name a member of an object by any text. */
function namedByText(file: SourceFile, checker: Checker): string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    const name = nameIn(node);
    if (name && isAnyText(name, checker)) found.push(node.getText(file));
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** Returns the expressions by the file of src. */
function scan(project: string): Map<string, string[]> {
  const config = join(root, project);
  const { program, checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!;
  const names = program
    .getSourceFileNames()
    .filter((name) => name.startsWith(join(root, 'src/')) && /(?<!\.d)\.ts$/.test(name));
  return new Map(
    names.map((name) => [
      relative(join(root, 'src'), name).split(sep).join('/'),
      namedByText(program.getSourceFile(name)!, checker),
    ]),
  );
}

describe('src', () => {
  it('names members of objects by text only where the list gives a reason', () => {
    const found = new Map([...scan('tsconfig.json'), ...scan('src/board/view/tsconfig.json')]);
    const places = [...found].filter(([, expressions]) => expressions.length > 0);
    const wrong = places.filter(([file]) => !allowed.has(file));
    expect(wrong).toEqual([]);
    expect(places.map(([file]) => file).sort()).toEqual([...allowed.keys()].sort());
  });
});
