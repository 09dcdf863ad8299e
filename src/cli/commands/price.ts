import { type Command, InvalidArgumentError } from 'commander';
import { withService } from '../access/with-runtime.ts';
import { printLine } from '../terminal/print.ts';
import { addChangeFlags, asNumber, runtimeFlags } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

const tokensPerPrice = 1_000_000;

/** Adds `heddle price`, which stores what a model costs at any service that keeps prices. */
export function addPrice(program: Command): void {
  const command = program
    .command('price')
    .description('store what a model costs from now on, for the costs of calls and evaluations and for budgets in USD')
    .argument('<model>', 'name of the model, as results have it')
    .requiredOption('--input <usd>', 'USD for a million tokens of the messages', asPrice)
    .requiredOption('--output <usd>', 'USD for a million tokens of the reply', asPrice);
  explain(command, {
    examples: ['heddle price gpt-5-mini --input 0.25 --output 2'],
    page: 'docs/evaluations.md#what-a-run-costs',
  });
  addChangeFlags(command, runtimeFlags).action((model: string, { input, output }: { input: number; output: number }) =>
    withService(command, async ({ service, project }) => {
      const cost = { prompt_token_cost: input / tokensPerPrice, completion_token_cost: output / tokensPerPrice };
      await service.call('createCosts', { body: { project_id: project, costs: { [model]: cost } } });
      printLine(
        `In ${project}, ${model} costs ${input} USD for a million tokens of the messages and ${output} of the reply.`,
      );
    }),
  );
}

/** Parses a price. @throws InvalidArgumentError for text that is none. */
function asPrice(text: string): number {
  const price = asNumber(text);
  if (price >= 0) return price;
  throw new InvalidArgumentError('It must be 0 or more.');
}
